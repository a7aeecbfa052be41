extern "C" __global__ void lif_k(int n, double dt, const double *encode, const double *bias, double *voltage, double *reftime, double tau_rc, double tau_ref, const double *gain, double *spikes) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        int neuron = i % 7, item = i / 7;
        double current = gain[neuron] * encode[item] + bias[neuron], dv, spike = 0, mult = dt;
        dv = -expm1(-dt / tau_rc) * (current - voltage[i]);
        voltage[i] = fmax(voltage[i] + dv, 0.0);
        reftime[i] -= dt;
        mult = -reftime[i] * (1.0 / dt) + 1.0;
        mult = mult > 1.0 ? 1.0 : mult;
        mult = mult < 0.0 ? 0.0 : mult;
        voltage[i] *= mult;
        if (voltage[i] > 1.0) {
            spike = 1.0 / dt;
            reftime[i] = tau_ref + dt * (1.0 - (voltage[i] - 1.0) / (dv + 1e-3));
            voltage[i] = 0.0;
        }
        spikes[i] = spike;
    }
}
