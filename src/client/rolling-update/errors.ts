// The error of rolling updates.

/** The update cannot be made as it was asked for. The message says why. */
export class RollingUpdateError extends Error {
  override readonly name = 'RollingUpdateError';
}
