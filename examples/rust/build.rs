//! Generates the client from the .proto files; protox compiles them, so that no protoc is needed.

use std::error::Error;

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo:rerun-if-changed=../../protos/envwire/v1");
    let files = protox::compile(["envwire/v1/environment.proto"], ["../../protos"])?;
    tonic_prost_build::configure().build_server(false).compile_fds(files)?;
    Ok(())
}
