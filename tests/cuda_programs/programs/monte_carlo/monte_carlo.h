// An Asian option (the mean of the price over time) by random paths; normal numbers of Philox as cuRAND has them.
#pragma once
#include "../common.h"

struct Option { float start, strike, rate, volatility, time; };

constexpr Option OPTION = {100, 100, 0.03f, 0.25f, 1};

struct Sums { double payoff, squares, last; };

// E[S_T] = S_0 exp(r T); the price of the Asian option lies below that of the European one (Black and Scholes).
inline void finish(const Sums &s, long paths, bool check) {
    const double discount = std::exp(-OPTION.rate * OPTION.time), price = discount * s.payoff / paths;
    const double variance = s.squares / paths - (s.payoff / paths) * (s.payoff / paths);
    result("price", price);
    result("error", discount * std::sqrt(variance / paths));
    result("last", s.last / paths);
    if (!check) return;
    const double forward = OPTION.start * std::exp(OPTION.rate * OPTION.time);
    const double spread = std::exp(OPTION.volatility * OPTION.volatility * OPTION.time) - 1;
    const double deviation = forward * std::sqrt(spread / paths);
    expect("forward price", std::fabs(s.last / paths - forward) < 4 * deviation);
    const double v = OPTION.volatility * std::sqrt(OPTION.time);
    const double d = (std::log(OPTION.start / OPTION.strike) + OPTION.rate * OPTION.time) / v + v / 2;
    auto normal = [](double x) { return 0.5 * std::erfc(-x / std::sqrt(2.0)); };
    const double european = OPTION.start * normal(d) - OPTION.strike * discount * normal(d - v);
    expect("price", price > 0.4 * european && price < 0.7 * european);
}
