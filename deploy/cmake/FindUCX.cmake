# UCX (Debian's libucx-dev). Its own CMake file names no dependency between ucp and ucs, and its
# pkg-config file adds the unneeded uct; Baton uses ucp and, for status texts, ucs.
#
#   find_package(UCX 1.13 REQUIRED)
#
# Targets: UCX::ucs, UCX::ucp (needs ucs). Variables: UCX_FOUND, UCX_VERSION.
include(FindPackageHandleStandardArgs)

find_path(UCX_INCLUDE_DIR NAMES ucp/api/ucp.h)
find_library(UCX_ucp_LIBRARY NAMES ucp)
find_library(UCX_ucs_LIBRARY NAMES ucs)
mark_as_advanced(UCX_INCLUDE_DIR UCX_ucp_LIBRARY UCX_ucs_LIBRARY)

if(UCX_INCLUDE_DIR)
  set(ucx_version_parts)
  foreach(part IN ITEMS MAJOR MINOR)
    file(STRINGS "${UCX_INCLUDE_DIR}/ucp/api/ucp_version.h" ucx_line
         REGEX "^#define UCP_API_${part}[ \t]+[0-9]+")
    string(REGEX MATCH "[0-9]+$" ucx_part "${ucx_line}")
    list(APPEND ucx_version_parts "${ucx_part}")
  endforeach()
  list(JOIN ucx_version_parts "." UCX_VERSION)
endif()

find_package_handle_standard_args(UCX
  REQUIRED_VARS UCX_ucp_LIBRARY UCX_ucs_LIBRARY UCX_INCLUDE_DIR
  VERSION_VAR UCX_VERSION)

if(UCX_FOUND AND NOT TARGET UCX::ucp)
  add_library(UCX::ucs UNKNOWN IMPORTED)
  set_target_properties(UCX::ucs PROPERTIES
    IMPORTED_LOCATION "${UCX_ucs_LIBRARY}"
    INTERFACE_INCLUDE_DIRECTORIES "${UCX_INCLUDE_DIR}")
  add_library(UCX::ucp UNKNOWN IMPORTED)
  set_target_properties(UCX::ucp PROPERTIES
    IMPORTED_LOCATION "${UCX_ucp_LIBRARY}"
    INTERFACE_INCLUDE_DIRECTORIES "${UCX_INCLUDE_DIR}"
    INTERFACE_LINK_LIBRARIES UCX::ucs)
endif()
