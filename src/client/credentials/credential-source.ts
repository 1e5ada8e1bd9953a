// Credentials that change while a client runs: rotated tokens, and certificates issued by a
// program.

/** A bearer token, a client certificate with its key (PEM), or both. */
export interface Credentials {
  readonly token?: string;
  readonly clientCertificate?: string;
  readonly clientKey?: string;
}

export interface CredentialSource {
  /** Returns the current credentials. Called before every request, so an implementation caches. */
  current(): Promise<Credentials>;
  /**
   * Reports that the server rejected these credentials with 401. The next call of `current` obtains
   * new ones.
   */
  invalidate(rejected: Credentials): void;
}
