#pragma once

namespace headway::io {

/// Text of apps/python/headway/dataset_members.json (a source that CMake generates).
extern const char* const kDatasetMemberTable;

}  // namespace headway::io
