// Credentials from a program that a kubeconfig names (client.authentication.k8s.io), as cloud
// providers and OIDC logins use it. The program gets an ExecCredential in KUBERNETES_EXEC_INFO and
// prints one with a token, a certificate, or both.

import type { Clock } from '#machinery/clock.ts';
import { errorMessage } from '#machinery/error-message.ts';
import type { Credentials, CredentialSource } from './credential-source.ts';
import { runCommand, type RunCommand } from './run-command.ts';

const API_VERSIONS: readonly string[] = [
  'client.authentication.k8s.io/v1',
  'client.authentication.k8s.io/v1beta1',
];
const TIME_LIMIT_MS = 120_000;

/** The cluster that the credentials are for. Passed on if `provideClusterInfo` is set. */
export interface ExecCluster {
  readonly server: string;
  readonly 'tls-server-name'?: string;
  readonly 'insecure-skip-tls-verify'?: boolean;
  /** Base64. */
  readonly 'certificate-authority-data'?: string;
}

export interface ExecCredentialsConfig {
  readonly apiVersion: string;
  readonly command: string;
  readonly args?: readonly string[];
  readonly env?: readonly { readonly name: string; readonly value: string }[];
  /** Shown if the program does not exist. */
  readonly installHint?: string;
  /** Absent: the program gets no information about the cluster. */
  readonly cluster?: ExecCluster;
  /** With 'Always', missing terminals are an error. */
  readonly interactiveMode?: 'Never' | 'IfAvailable' | 'Always';
  readonly clock: Clock;
  /** Default: runs the program. */
  readonly run?: RunCommand;
  /** Stdin is a terminal. Default: determined from stdin. */
  readonly isTerminal?: boolean;
}

/** The reason why there are no credentials. */
export class ExecCredentialsError extends Error {
  constructor(message: string, options?: { readonly cause?: unknown }) {
    super(message, options);
    this.name = 'ExecCredentialsError';
  }
}

interface ExecStatus {
  readonly token?: unknown;
  readonly clientCertificateData?: unknown;
  readonly clientKeyData?: unknown;
  readonly expirationTimestamp?: unknown;
}

/**
 * Runs the program when there are no credentials, when they expire, and after a 401. Concurrent
 * requests share one run.
 */
export class ExecCredentials implements CredentialSource {
  readonly #config: ExecCredentialsConfig;
  #current: Credentials | undefined;
  /** Wall-clock milliseconds. */
  #expiresAt = Infinity;
  #running: Promise<Credentials> | undefined;

  constructor(config: ExecCredentialsConfig) {
    if (!API_VERSIONS.includes(config.apiVersion)) {
      throw new ExecCredentialsError(
        `exec plugin: the apiVersion must be one of ${API_VERSIONS.join(', ')}: ${config.apiVersion}`,
      );
    }
    this.#config = config;
  }

  async current(): Promise<Credentials> {
    if (this.#current !== undefined && this.#config.clock.now() < this.#expiresAt)
      return this.#current;
    this.#running ??= this.#run().finally(() => (this.#running = undefined));
    return this.#running;
  }

  invalidate(rejected: Credentials): void {
    if (rejected === this.#current) this.#current = undefined;
  }

  async #run(): Promise<Credentials> {
    const {
      apiVersion,
      command,
      args = [],
      env = [],
      cluster,
      installHint,
      run = runCommand,
    } = this.#config;
    const interactive = this.#interactive();
    const info = {
      apiVersion,
      kind: 'ExecCredential',
      spec: { ...(cluster !== undefined && { cluster }), interactive },
    };
    const variables = Object.fromEntries(env.map(({ name, value }) => [name, value]));
    const environment = { ...variables, KUBERNETES_EXEC_INFO: JSON.stringify(info) };
    let result;
    try {
      result = await run({
        command,
        args,
        env: environment,
        interactive,
        timeoutMs: TIME_LIMIT_MS,
      });
    } catch (error) {
      const missing = (error as NodeJS.ErrnoException).code === 'ENOENT';
      const hint = missing && installHint ? `\n\n${installHint}` : '';
      const reason = missing ? 'executable not found' : errorMessage(error);
      throw new ExecCredentialsError(`exec: ${command}: ${reason}${hint}`, { cause: error });
    }
    if (result.exitCode !== 0)
      throw new ExecCredentialsError(`exec: ${command} failed with exit code ${result.exitCode}`);
    const status = this.#statusIn(result.stdout);
    this.#current = credentialsIn(status);
    this.#expiresAt = expiry(status);
    return this.#current;
  }

  #interactive(): boolean {
    const { interactiveMode = 'IfAvailable', isTerminal = process.stdin.isTTY } = this.#config;
    if (interactiveMode === 'Never') return false;
    if (interactiveMode === 'Always' && !isTerminal) {
      throw new ExecCredentialsError(
        'exec plugin cannot support interactive mode: standard input is not a terminal',
      );
    }
    return isTerminal;
  }

  #statusIn(output: string): ExecStatus {
    const { apiVersion } = this.#config;
    let parsed: unknown;
    try {
      parsed = JSON.parse(output);
    } catch (error) {
      throw new ExecCredentialsError('exec plugin: the output is not JSON', { cause: error });
    }
    const credential = (typeof parsed === 'object' && parsed !== null ? parsed : {}) as Record<
      string,
      unknown
    >;
    if (credential['kind'] !== 'ExecCredential' || credential['apiVersion'] !== apiVersion) {
      const got = `${String(credential['apiVersion'])}, Kind=${String(credential['kind'])}`;
      throw new ExecCredentialsError(
        `exec plugin is configured to use API version ${apiVersion}, plugin returned version ${got}`,
      );
    }
    const status = credential['status'];
    if (typeof status !== 'object' || status === null) {
      throw new ExecCredentialsError("exec plugin didn't return a status field");
    }
    return status;
  }
}

function credentialsIn(status: ExecStatus): Credentials {
  const text = (value: unknown): string | undefined =>
    typeof value === 'string' && value !== '' ? value : undefined;
  const token = text(status.token);
  const clientCertificate = text(status.clientCertificateData);
  const clientKey = text(status.clientKeyData);
  if (token === undefined && clientCertificate === undefined && clientKey === undefined) {
    throw new ExecCredentialsError("exec plugin didn't return a token or cert/key pair");
  }
  if ((clientCertificate === undefined) !== (clientKey === undefined)) {
    throw new ExecCredentialsError('exec plugin returned only certificate or key, not both');
  }
  return { token, clientCertificate, clientKey };
}

/**
 * Returns the time at which the credentials expire. Credentials without a time are used until the
 * server rejects them.
 */
function expiry({ expirationTimestamp }: ExecStatus): number {
  if (expirationTimestamp === undefined || expirationTimestamp === null) return Infinity;
  const time =
    typeof expirationTimestamp === 'string' ? Date.parse(expirationTimestamp) : Number.NaN;
  if (Number.isNaN(time))
    throw new ExecCredentialsError(
      'exec plugin returned an expirationTimestamp that is not a time',
    );
  return time;
}
