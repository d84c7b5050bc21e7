/*
 * Drives an environment with the C header: rollout_c HOST PORT ID SEED, an integer action a line on standard input.
 * The action -1000 is bytes that are no value. Output, a line for the reset and each step: the observation's bytes in
 * hexadecimal, the reward, "1" for an end; or the reason of an error.
 */
#define ENVWIRE_IMPLEMENTATION
#include "envwire.h"

static void tell(const envwire_result* result) {
  const unsigned char* bytes = (const unsigned char*)result->observation.data;
  size_t i;
  if ((uintptr_t)bytes % sizeof(float) != 0) printf("misaligned ");
  for (i = 0; i < result->observation.bytes; ++i) printf("%02x", bytes[i]);
  printf(" %.17g %d\n", result->reward, result->terminated || result->truncated);
}

int main(int argc, char** argv) {
  envwire_result result;
  envwire_env* env;
  long long action;
  if (argc != 5) return 2;
  env = envwire_make(argv[1], argv[2], argv[3], NULL);
  if (envwire_reset(env, atoll(argv[4]), &result) != 0) {
    fprintf(stderr, "%s: %s\n", envwire_reason(env), envwire_error(env));
    envwire_close(env);
    return 1;
  }
  tell(&result);
  while (scanf("%lld", &action) == 1) {
    const int failed =
        action == -1000 ? envwire_step_value(env, "\xff", 1, &result) : envwire_step_int(env, action, &result);
    if (failed) {
      printf("%s\n", envwire_reason(env));
      continue;
    }
    tell(&result);
    if ((result.terminated || result.truncated) && envwire_reset(env, -1, &result) == 0) tell(&result);
  }
  printf("resumed %d\n", envwire_resumed(env));
  envwire_close(env);
  return 0;
}
