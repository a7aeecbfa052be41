// several_files WIDTH HEIGHT BALLS SEED [--check]: host code that knows nothing of CUDA.
#include "scene.h"

int main(int argc, char **argv) {
    const Arguments arguments(argc, argv);
    const int width = arguments.number(0, 160), height = arguments.number(1, 120);
    const Scene scene = make_scene(arguments.number(2, 8), arguments.number(3, 1));
    std::vector<float> image(size_t(width) * height);
    Statistics statistics = {};
    double kernel_ms = 0;
    const double begun = milliseconds();
    render(scene, image, width, height, statistics, kernel_ms);
    const double total_ms = milliseconds() - begun;
    print_times(kernel_ms, total_ms);
    finish(scene, image, width, height, statistics, arguments.check);
}
