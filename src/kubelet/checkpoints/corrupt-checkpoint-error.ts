// The contents of a checkpoint do not match its checksum, or are not a checkpoint.

export class CorruptCheckpointError extends Error {
  constructor(options?: ErrorOptions) {
    super('checkpoint is corrupted', options);
    this.name = 'CorruptCheckpointError';
  }
}
