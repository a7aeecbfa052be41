"""The state of a program on disk: `reactant.Checkpoints(directory)`.

Steps, what is complete, and what is thrown away are orbax-checkpoint's to manage; what is in a step, `checkpoint_files`
writes and reads. A step has its name when all of it is there and not before.
"""
from __future__ import annotations

import contextlib
import logging
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jax

from reactant.errors import CheckpointError, ClusterError
from reactant.processes import agreement, checkpoint_files
from reactant.processes.peers import cluster

VARIABLE = "REACTANT_CHECKPOINT"
"""Where `reactant launch --checkpoint` tells the directory."""
STATE = "state"
"""What orbax calls all that is in a step."""


class Checkpoints:
    """Checkpoints of a program in a directory, which all of its processes see.

    Args:
        directory: that of `reactant launch --checkpoint DIR` when None.
        keep: how many complete ones stay, the last ones; None for all.

    Raises:
        CheckpointError: where no directory is named, or orbax-checkpoint is not installed.

    Example:
        >>> saved = reactant.Checkpoints("run1")
        >>> state = {"u": np.arange(3.0), "time": 0.5}
        >>> saved.save(10, state)
        >>> saved.latest, saved.restore(state)["u"]
        (10, array([0., 1., 2.]))
        >>> saved.close()
    """

    def __init__(self, directory: str | os.PathLike[str] | None = None, *, keep: int | None = 3) -> None:
        named = directory if directory is not None else os.environ.get(VARIABLE)
        if named is None:
            raise CheckpointError("reactant.Checkpoints: no directory is named, and the program was not started by "
                                  "reactant launch --checkpoint DIR.",
                                  hint="Name one: reactant.Checkpoints(directory).", code="checkpoint-setup")
        if keep is not None and keep < 1:
            raise CheckpointError(f"reactant.Checkpoints: keep={keep}: at least one.", hint="Keep one or more.",
                                  code="checkpoint-setup")
        cluster()
        self.directory = Path(named).resolve()
        self._manager = _manager(self.directory, keep)
        self._steps: list[int] = self._found()

    @property
    def latest(self) -> int | None:
        """The last complete step; None where there is none."""
        return self._steps[-1] if self._steps else None

    @property
    def steps(self) -> list[int]:
        """All complete steps, in ascending order."""
        return list(self._steps)

    def _found(self) -> list[int]:
        found: list[int] = agreement.said_by_first(sorted(self._manager.all_steps()) if self._manager else None)
        return found

    def save(self, step: int, state: Any) -> None:
        """Write a state as a step; returns when it is complete. All processes have to call this.

        Args:
            step: its number.
            state: arrays of `reactant.array`, of jax (keys of `jax.random`, too) and of NumPy, numbers, bools and
                strings, in dicts, lists, tuples and whatever else jax takes for a tree. Of arrays on a mesh each
                process writes what it has, without padding; of all else, which is to be the same in each process, the
                first one's is written.

        Raises:
            CheckpointError: for a step that is there, for what cannot be written, and in all processes where one of
                them fails (its disk is full, say). Earlier checkpoints stay as they are then.
        """
        if step in self._steps:
            raise CheckpointError(f"There is a checkpoint of step {step} in {self.directory} already.",
                                  hint="Save another step, or another directory.", code="checkpoint-not-written")
        parts = checkpoint_files.parts_of(state)
        with _quiet():
            if self._manager is None:
                checkpoint_files.write_together(None, parts)
                checkpoint_files.completed(None)
            else:
                self._save(step, parts)
        self._steps = self._found()

    def _save(self, step: int, parts: Any) -> None:
        """As `save`, in the first process: orbax makes the directory, and gives it its name when all is there."""
        ocp, before, failure = checkpoint_files.orbax(), agreement.asked(), None
        try:
            self._manager.save(step, args=ocp.args.Composite(**{STATE: checkpoint_files.for_orbax().Parts(parts)}),
                               force=True)
            self._manager.wait_until_finished()
            self._manager.check_for_errors()
        except ClusterError:
            raise
        except Exception as error:
            failure = error
        if failure is not None:
            for rest in self.directory.glob(f"{step}.*tmp*"):
                shutil.rmtree(rest, ignore_errors=True)
            if isinstance(failure, CheckpointError):        # which all processes have, and not from within orbax
                raise failure
            if agreement.asked() == before:
                raise checkpoint_files.give_up(failure)
        checkpoint_files.completed(failure)

    def restore(self, like: Any = None, step: int | None = None) -> Any:
        """The state of a step.

        Args:
            like: a tree of what was saved, whose leaves say how each is wanted: a device array or an array of jax's on
                the same devices in the same way (what is in it is not looked at), a `jax.ShapeDtypeStruct` with a
                sharding as an array of jax's, a `NamedSharding` as a device array, all else as it was saved. The mesh
                may be another one than before. When None, all arrays are of NumPy's and whole, in dicts and lists.
            step: its number; the last one when None.

        Returns:
            A tree like `like`.

        Raises:
            CheckpointError: where there is no such step, and where it holds no such leaf or one of another shape or
                dtype.
        """
        step = self.latest if step is None else step
        if step is None or step not in self._steps:
            have = f"there are {', '.join(map(str, self._steps))}" if self._steps else "there are none"
            raise CheckpointError(f"There is no checkpoint{'' if step is None else f' of step {step}'} in "
                                  f"{self.directory}; {have}.", hint="Ask for something that it has.",
                                  code="checkpoint-contents")
        return checkpoint_files.read(self.directory / str(step) / STATE, like)

    def close(self) -> None:
        """Let go of the directory."""
        if self._manager is not None:
            self._manager.close()

    def __repr__(self) -> str:
        return f"reactant.Checkpoints({str(self.directory)!r}): steps {self.steps}"


def _manager(directory: Path, keep: int | None) -> Any:
    """orbax's, which the first process has: those of several would wait for each other in operations between devices,
    and not hear of it when one cannot go on."""
    ocp = checkpoint_files.orbax()
    if jax.process_index() != 0:
        return None
    with _quiet():
        directory.mkdir(parents=True, exist_ok=True)
        alone = ocp.options.MultiprocessingOptions(primary_host=0, active_processes={0},
                                                   barrier_sync_key_prefix="reactant")
        return ocp.CheckpointManager(
            directory, item_handlers={STATE: checkpoint_files.for_orbax().Handler()},
            options=ocp.CheckpointManagerOptions(
                max_to_keep=keep, create=False, cleanup_tmp_directories=True, enable_async_checkpointing=False,
                multiprocessing_options=alone if jax.process_count() > 1 else ocp.options.MultiprocessingOptions()))


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """orbax tells its log of all that it does, and of errors that it raises as well."""
    log = logging.getLogger("absl")
    before = log.level
    log.setLevel(logging.CRITICAL)
    try:
        yield
    except ClusterError:        # its threads are still at it
        raise
    except BaseException:
        log.setLevel(before)
        raise
    log.setLevel(before)
