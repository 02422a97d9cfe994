// Layouts as the datatype engine sees them: the canonical tree and its figures.
#include <sstream>

#include "base/format.hpp"
#include "datatype/describe.hpp"
#include "datatype/descriptor.hpp"
#include "hw/descriptor_encoders.hpp"
#include "tools/stria_info/section.hpp"

namespace stria::info {

Section layout_section(const std::vector<NamedLayout>& layouts) {
  Section section{"layouts", "Layouts", "", Json::array()};
  for (const auto& [name, layout] : layouts) {
    const std::int64_t blocks = layout.block_count();
    section.text +=
        fmt::format("{}\n  {:<16} {}\n  {:<16} {} bytes in {} block{}{}\n  {:<16} {}, lower bound {}\n", name,
                    "tree", layout.to_string(), "size", layout.size(), blocks, blocks == 1 ? "" : "s",
                    blocks > 1 ? fmt::format(", {} bytes each on average", layout.size() / blocks) : "",
                    "extent", layout.extent(), layout.lb());
    section.text +=
        fmt::format("  {:<16} {}, lower bound {}\n  {:<16} {}\n", "true extent", layout.true_extent(),
                    layout.true_lb(), "contiguous", layout.is_contiguous() ? "yes" : "no");
    const std::size_t descriptor = datatype::encode(layout).size();
    const std::string kernel = datatype::kernel_of(layout);
    const std::vector<std::string> parts = datatype::kernels_of_parts(layout);
    section.text += fmt::format("  {:<16} {}\n", "kernel", kernel);
    for (const std::string& line : parts) section.text += fmt::format("  {:<16}   {}\n", "", line);
    section.text += fmt::format("  {:<16} {} bytes\n", "wire descriptor", descriptor);
    Json forms = Json::array();
    std::istringstream lines(hw::describe_forms(layout));
    for (std::string line; std::getline(lines, line);) {
      section.text += fmt::format("  {:<16} {}\n", forms.empty() ? "device forms" : "", line);
      forms.push_back(line);
    }
    section.json.push_back({{"expression", name},
                            {"tree", layout.to_string()},
                            {"size", layout.size()},
                            {"blocks", blocks},
                            {"extent", layout.extent()},
                            {"lower_bound", layout.lb()},
                            {"true_extent", layout.true_extent()},
                            {"true_lower_bound", layout.true_lb()},
                            {"contiguous", layout.is_contiguous()},
                            {"kernel", kernel},
                            {"kernels_of_parts", parts},
                            {"descriptor_bytes", descriptor},
                            {"device_forms", forms}});
  }
  return section;
}

std::vector<NamedLayout> usual_layouts() {
  // Block sizes decide: a column of doubles, a column of cache lines, rows of a page and of 64 KiB.
  std::vector<NamedLayout> layouts;
  for (const char* expression : {"bytes(1)", "vector(2K, 1, 16K, double)", "vector(1K, 1, 4K, bytes(64))",
                                 "vector(256, 1, 8K, bytes(4K))", "vector(16, 1, 128K, bytes(64K))"}) {
    auto layout = parse_layout(expression);
    STRIA_CHECK(layout.has_value(), "a layout of stria_info does not parse");
    layouts.push_back({expression, *std::move(layout)});
  }
  return layouts;
}

}  // namespace stria::info
