// The losses by the names that tenfold.losses gives them.
#pragma once

#include "arrays.hpp"

#include "tenfold/isa_kernels.hpp"

namespace tenfold {

inline constexpr std::array<const char *, loss_count> loss_names = {"square",
                                                                    "logistic",
                                                                    "hinge",
                                                                    "squared hinge",
                                                                    "epsilon insensitive",
                                                                    "squared epsilon insensitive",
                                                                    "huber",
                                                                    "quantile",
                                                                    "poisson",
                                                                    "gamma",
                                                                    "tweedie",
                                                                    "log deviance",
                                                                    "identity deviance",
                                                                    "student",
                                                                    "tanh",
                                                                    "modified huber"};

inline Loss loss_named(const std::string &name) {
  const auto position = std::find(loss_names.begin(), loss_names.end(), name);
  if (position == loss_names.end())
    throw nb::value_error(("loss must be the name of a loss of tenfold.losses, not '" + name + "'").c_str());
  return static_cast<Loss>(position - loss_names.begin());
}

} // namespace tenfold
