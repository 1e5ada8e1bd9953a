// Credentials that change while a client runs: tokens that are rotated, and certificates that a program issues.

/** A bearer token, a client certificate with its key (PEM), or both. */
export interface Credentials {
  readonly token?: string;
  readonly clientCertificate?: string;
  readonly clientKey?: string;
}

export interface CredentialSource {
  /** Returns the credentials to use now. Called before every request: an implementation caches. */
  current(): Promise<Credentials>;
  /** The server rejected these credentials with 401. The next call of `current` obtains new ones. */
  invalidate(rejected: Credentials): void;
}
