# The C++ Actor Framework as Debian packages it (libcaf-dev 0.17): libraries and headers only, with
# neither a CMake package nor a pkg-config file.
#
#   find_package(CAF 0.17 REQUIRED COMPONENTS core io openssl)
#
# Targets: CAF::core, CAF::io (needs core), CAF::openssl (needs io). Variables: CAF_FOUND, CAF_VERSION.
include(FindPackageHandleStandardArgs)

if(NOT CAF_FIND_COMPONENTS)
  set(CAF_FIND_COMPONENTS core)
endif()

find_path(CAF_INCLUDE_DIR NAMES caf/config.hpp)
if(CAF_INCLUDE_DIR)
  # The header states the version as one decimal number, two digits each for minor and patch.
  file(STRINGS "${CAF_INCLUDE_DIR}/caf/config.hpp" caf_version_line
       REGEX "^#define CAF_VERSION [0-9]+")
  if(caf_version_line MATCHES "([0-9]+)[ \t]*$")
    set(caf_version_number ${CMAKE_MATCH_1})
    math(EXPR caf_major "${caf_version_number} / 10000")
    math(EXPR caf_minor "${caf_version_number} / 100 % 100")
    math(EXPR caf_patch "${caf_version_number} % 100")
    set(CAF_VERSION ${caf_major}.${caf_minor}.${caf_patch})
  endif()
endif()

foreach(component IN ITEMS core io openssl)
  find_library(CAF_${component}_LIBRARY NAMES caf_${component})
  mark_as_advanced(CAF_${component}_LIBRARY)
  if(CAF_${component}_LIBRARY AND CAF_INCLUDE_DIR)
    set(CAF_${component}_FOUND TRUE)
  endif()
endforeach()
mark_as_advanced(CAF_INCLUDE_DIR)

find_package_handle_standard_args(CAF
  REQUIRED_VARS CAF_core_LIBRARY CAF_INCLUDE_DIR
  VERSION_VAR CAF_VERSION
  HANDLE_COMPONENTS)

# caf_target(<component> <what it needs>...)
function(caf_target component)
  if(CAF_${component}_FOUND AND NOT TARGET CAF::${component})
    add_library(CAF::${component} UNKNOWN IMPORTED)
    set_target_properties(CAF::${component} PROPERTIES
      IMPORTED_LOCATION "${CAF_${component}_LIBRARY}"
      INTERFACE_INCLUDE_DIRECTORIES "${CAF_INCLUDE_DIR}"
      INTERFACE_LINK_LIBRARIES "${ARGN}")
  endif()
endfunction()

if(CAF_FOUND)
  find_package(Threads REQUIRED)
  caf_target(core Threads::Threads)
  caf_target(io CAF::core)
  if("openssl" IN_LIST CAF_FIND_COMPONENTS)
    find_package(OpenSSL REQUIRED)
    caf_target(openssl CAF::io OpenSSL::SSL OpenSSL::Crypto)
  endif()
endif()
