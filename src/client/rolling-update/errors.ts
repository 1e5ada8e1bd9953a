// The error of rolling updates.

/** The requested update is not possible. The message contains the reason. */
export class RollingUpdateError extends Error {
  override readonly name = 'RollingUpdateError';
}
