/** Returns the message of a thrown value: an Error, or any other value. */
export function errorMessage(err: unknown): string {
  return err instanceof Error ? err.message : String(err);
}
