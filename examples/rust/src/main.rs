//! Drives one episode of CartPole from the .proto files alone, by unary calls.
//! Usage: cargo run -- HOST:PORT

use std::error::Error;
use std::time::Duration;

use tonic::transport::{Channel, Endpoint};
use tonic::Status;
use tonic_types::StatusExt;

#[allow(clippy::all, dead_code)]
mod pb {
    tonic::include_proto!("envwire.v1");
}

use pb::environment_service_client::EnvironmentServiceClient;
use pb::value::Kind;

const SEED: i64 = 7;
const TIMEOUT: Duration = Duration::from_secs(30);

type Client = EnvironmentServiceClient<Channel>;

/// One environment, and the number of its last request.
struct Session {
    client: Client,
    header: pb::SessionHeader,
    sequence: u64,
}

impl Session {
    async fn make(mut client: Client, id: &str) -> Result<Self, Status> {
        let request = pb::MakeRequest { env_id: id.to_owned(), ..Default::default() };
        let made = client.make(request).await?.into_inner();
        if let Some(pb::space::Kind::Discrete(space)) = made.action_space.and_then(|space| space.kind) {
            println!("made {id}: {} actions", space.n);
        }
        let header = pb::SessionHeader { session_id: made.session_id, secret: made.secret };
        Ok(Self { client, header, sequence: 0 })
    }

    /// Returns header and number of the next request. One that got no answer may be repeated with its number.
    fn next(&mut self) -> (Option<pb::SessionHeader>, u64) {
        self.sequence += 1;
        (Some(self.header.clone()), self.sequence)
    }

    async fn reset(&mut self) -> Result<pb::ResetResponse, Status> {
        let (header, sequence) = self.next();
        let seed = Some(integer(SEED));
        let request = pb::ResetRequest { header, sequence, seed, ..Default::default() };
        Ok(self.client.reset(request).await?.into_inner())
    }

    // --8<-- [start:step]
    async fn step(&mut self, action: i64) -> Result<pb::StepResponse, Status> {
        let (header, sequence) = self.next();
        let action = Some(integer(action));
        let request = pb::StepRequest { header, sequence, action, ..Default::default() };
        Ok(self.client.step(request).await?.into_inner())
    }
    // --8<-- [end:step]

    async fn close(mut self) -> Result<(), Status> {
        let (header, sequence) = self.next();
        self.client.close(pb::CloseRequest { header, sequence }).await?;
        Ok(())
    }
}

fn integer(value: i64) -> pb::Value {
    pb::Value { kind: Some(Kind::IntValue(value)) }
}

/// Returns the elements of an array: packed, little-endian.
fn float32s(value: Option<pb::Value>) -> Vec<f32> {
    let Some(Kind::Array(tensor)) = value.and_then(|value| value.kind) else {
        return Vec::new();
    };
    let elements = tensor.data.chunks_exact(4);
    elements.map(|bytes| f32::from_le_bytes(bytes.try_into().expect("four bytes"))).collect()
}

/// Pushes to the side that the pole leans to.
fn policy(observation: &[f32]) -> i64 {
    i64::from(observation[2] > 0.0)
}

/// Resets, steps to the end of the episode, and returns its steps and the sum of its rewards.
async fn episode(env: &mut Session) -> Result<(u32, f64), Status> {
    let mut observation = float32s(env.reset().await?.observation);
    let (mut steps, mut total) = (0, 0.0);
    loop {
        let answer = env.step(policy(&observation)).await?;
        steps += 1;
        total += answer.reward;
        if answer.terminated || answer.truncated {
            return Ok((steps, total));
        }
        observation = float32s(answer.observation);
    }
}

/// Returns the reason of an error of the server, "UNKNOWN_SESSION" for instance; empty for one of gRPC itself.
fn reason(status: &Status) -> String {
    match status.get_details_error_info() {
        Some(info) if info.domain == "envwire" => info.reason,
        _ => String::new(),
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let target = std::env::args().nth(1).ok_or("usage: cargo run -- HOST:PORT")?;
    let endpoint = Endpoint::from_shared(format!("http://{target}"))?.timeout(TIMEOUT);
    let client = Client::new(endpoint.connect().await?);
    if let Err(status) = Session::make(client.clone(), "CartPol-v1").await {
        println!("refused: {}", reason(&status));
    }
    let mut env = Session::make(client, "CartPole-v1").await?;
    let (steps, total) = episode(&mut env).await?;
    println!("{steps} steps, return {total:.1}");
    env.close().await?;
    Ok(())
}
