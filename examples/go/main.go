// Drives one episode of CartPole with only the .proto files, by unary calls.
// Usage: go run . HOST:PORT
package main

import (
	"context"
	"encoding/binary"
	"fmt"
	"log"
	"math"
	"os"
	"time"

	pb "envwire.example/envwire/v1"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
)

const (
	seed    = 7
	timeout = 30 * time.Second
)

// session numbers the requests of one environment.
type session struct {
	client   pb.EnvironmentServiceClient
	header   *pb.SessionHeader
	sequence uint64
}

// next returns the number of the next request. A request without an answer may be repeated with its number.
func (s *session) next() uint64 {
	s.sequence++
	return s.sequence
}

func (s *session) reset(ctx context.Context) (*pb.ResetResponse, error) {
	start := &pb.Value{Kind: &pb.Value_IntValue{IntValue: seed}}
	return s.client.Reset(ctx, &pb.ResetRequest{Header: s.header, Sequence: s.next(), Seed: start})
}

// --8<-- [start:step]
func (s *session) step(ctx context.Context, action int64) (*pb.StepResponse, error) {
	move := &pb.Value{Kind: &pb.Value_IntValue{IntValue: action}}
	return s.client.Step(ctx, &pb.StepRequest{Header: s.header, Sequence: s.next(), Action: move})
}

// --8<-- [end:step]

func (s *session) close(ctx context.Context) error {
	_, err := s.client.Close(ctx, &pb.CloseRequest{Header: s.header, Sequence: s.next()})
	return err
}

func makeEnvironment(ctx context.Context, client pb.EnvironmentServiceClient, id string) (*session, error) {
	made, err := client.Make(ctx, &pb.MakeRequest{EnvId: id})
	if err != nil {
		return nil, err
	}
	fmt.Printf("made %s: %d actions\n", id, made.GetActionSpace().GetDiscrete().GetN())
	header := &pb.SessionHeader{SessionId: made.GetSessionId(), Secret: made.GetSecret()}
	return &session{client: client, header: header}, nil
}

// float32s returns the elements of an array: packed, little-endian.
func float32s(value *pb.Value) []float32 {
	data := value.GetArray().GetData()
	elements := make([]float32, len(data)/4)
	for i := range elements {
		elements[i] = math.Float32frombits(binary.LittleEndian.Uint32(data[4*i:]))
	}
	return elements
}

// policy pushes to the side to which the pole leans.
func policy(observation *pb.Value) int64 {
	if angle := float32s(observation)[2]; angle > 0 {
		return 1
	}
	return 0
}

// episode resets, steps to the end of the episode, and returns its steps and the sum of its rewards.
func episode(ctx context.Context, env *session) (steps int, total float64, err error) {
	start, err := env.reset(ctx)
	if err != nil {
		return 0, 0, err
	}
	for observation, ended := start.GetObservation(), false; !ended; steps++ {
		answer, err := env.step(ctx, policy(observation))
		if err != nil {
			return steps, total, err
		}
		observation, total = answer.GetObservation(), total+answer.GetReward()
		ended = answer.GetTerminated() || answer.GetTruncated()
	}
	return steps, total, nil
}

// reason returns the reason of a server's error, such as "UNKNOWN_SESSION"; empty for an error of gRPC itself.
func reason(err error) string {
	for _, detail := range status.Convert(err).Details() {
		if info, ok := detail.(*errdetails.ErrorInfo); ok && info.GetDomain() == "envwire" {
			return info.GetReason()
		}
	}
	return ""
}

func run(target string) error {
	connection, err := grpc.NewClient(target, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return err
	}
	defer connection.Close()
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	client := pb.NewEnvironmentServiceClient(connection)
	if _, err := makeEnvironment(ctx, client, "CartPol-v1"); err != nil {
		fmt.Println("refused:", reason(err))
	}
	env, err := makeEnvironment(ctx, client, "CartPole-v1")
	if err != nil {
		return err
	}
	steps, total, err := episode(ctx, env)
	if err != nil {
		return err
	}
	fmt.Printf("%d steps, return %.1f\n", steps, total)
	return env.close(ctx)
}

func main() {
	if len(os.Args) != 2 {
		log.Fatal("usage: go run . HOST:PORT")
	}
	if err := run(os.Args[1]); err != nil {
		log.Fatal(err)
	}
}
