# Finds gRPC and its reflection: by CMake's own files, or by pkg-config if a distribution has none (Debian).
find_package(gRPC CONFIG QUIET)
if(NOT TARGET gRPC::grpc++)
  find_package(PkgConfig REQUIRED)
  pkg_check_modules(GRPCPP REQUIRED IMPORTED_TARGET grpc++)
  add_library(gRPC::grpc++ ALIAS PkgConfig::GRPCPP)
  find_library(GRPCPP_REFLECTION NAMES grpc++_reflection REQUIRED) # has no .pc file there
  add_library(gRPC::grpc++_reflection UNKNOWN IMPORTED)
  set_target_properties(gRPC::grpc++_reflection PROPERTIES IMPORTED_LOCATION "${GRPCPP_REFLECTION}")
endif()
