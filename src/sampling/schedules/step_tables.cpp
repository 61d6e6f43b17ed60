#include "sampling/schedules/step_tables.h"

#include <array>

namespace hearth::sampling {

std::span<const double> ays_sd15() {
  static constexpr std::array table{14.6146412293, 6.4745760956, 3.8636745985, 2.6946151520, 1.8841921177, 1.3943805092,
                                    0.9642583904,  0.6523686016, 0.3977456272, 0.1515232662, 0.0291671582};
  return table;
}

std::span<const double> ays_sdxl() {
  static constexpr std::array table{14.6146412293, 6.3184485287, 3.7681790315, 2.1811480769, 1.3405244945, 0.8620721141,
                                    0.5550693289,  0.3798540708, 0.2332364134, 0.1114188177, 0.0291671582};
  return table;
}

std::span<const double> ays_a1111_sd15() {
  static constexpr std::array table{14.615, 6.475, 3.861, 2.697, 1.886, 1.396, 0.963, 0.652, 0.399, 0.152, 0.029};
  return table;
}

std::span<const double> ays_a1111_sdxl() {
  static constexpr std::array table{14.615, 6.315, 3.771, 2.181, 1.342, 0.862, 0.555, 0.380, 0.234, 0.113, 0.029};
  return table;
}

std::span<const double> ays_svd() {
  static constexpr std::array table{700.0, 54.5, 15.886, 7.977, 4.248, 1.789, 0.981, 0.403, 0.173, 0.034, 0.002};
  return table;
}

std::span<const double> ays_32_sd15() {
  static constexpr std::array table{14.615,     11.23951352, 8.64363081, 6.64729424, 5.57250862, 4.71648546, 3.99196065, 3.51956090,
                                    3.13490466, 2.79228788,  2.48773628, 2.21663865, 1.97508351, 1.77931720, 1.61475335, 1.46540953,
                                    1.31484900, 1.16642497,  1.03475547, 0.91573744, 0.80748169, 0.71202361, 0.62173900, 0.53065202,
                                    0.45290960, 0.37491455,  0.27461819, 0.20115290, 0.14105873, 0.06682881, 0.03166121, 0.015};
  return table;
}

std::span<const double> ays_32_sdxl() {
  static constexpr std::array table{14.615,     11.14916180, 8.50522127, 6.48827151, 5.43707402, 4.60398619, 3.89854704, 3.27407457,
                                    2.74396527, 2.29968659,  1.95448514, 1.67108715, 1.42878152, 1.23181009, 1.06789649, 0.92579443,
                                    0.80290886, 0.69660121,  0.60436903, 0.52852552, 0.46773344, 0.41393379, 0.36258186, 0.31008517,
                                    0.26518925, 0.22326461,  0.17653877, 0.13959192, 0.10587381, 0.05519369, 0.02877334, 0.015};
  return table;
}

std::span<const double> gits_sd15() {
  static constexpr std::array table{14.615, 4.617, 2.507, 1.236, 0.702, 0.402, 0.240, 0.156, 0.104, 0.094, 0.029};
  return table;
}

std::span<const double> gits_sdxl() {
  static constexpr std::array table{14.615, 4.734, 2.567, 1.529, 0.987, 0.652, 0.418, 0.268, 0.179, 0.127, 0.029};
  return table;
}

}  // namespace hearth::sampling
