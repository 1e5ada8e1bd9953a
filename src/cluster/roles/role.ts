// The common parts of roles that run as processes of their own.

import { errorMessage } from '#machinery/error-message.ts';
import { X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createSecureContext } from 'node:tls';
import { parseYaml, YamlError } from '#api/machinery/codec/index.ts';
import type { Client } from '#client/client.ts';
import { createClient } from '#client/create-client.ts';
import { createHttpTransport, type ServerAccess } from '#client/http/index.ts';
import { KubeconfigError, loadKubeconfig } from '#client/kubeconfig.ts';
import type { Clock } from '#machinery/clock.ts';
import type { Logger } from '#machinery/log.ts';
import type { Random } from '#machinery/random.ts';
import { UserError } from '../user-error.ts';
import { KUBERNETES_VERSION } from '../version.ts';

export interface RoleConfig {
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
}

export interface RunningRole {
  /** One line for the terminal. */
  readonly description: string;
  /** Resolves if something of it ends that should not. */
  readonly failed: Promise<Error>;
  /** Idempotent. */
  stop(): Promise<void>;
}

/** The text of a file that a flag names. Throws UserError. */
export function readFlagFile(flag: string, path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    throw new UserError(`${flag}: ${(error as Error).message}`, { cause: error });
  }
}

/** Parses the YAML of a file that a flag names. Throws UserError. */
export function parseFlagYaml(flag: string, text: string): unknown {
  try {
    return parseYaml(text);
  } catch (error) {
    if (error instanceof YamlError)
      throw new UserError(`${flag}: ${error.message}`, { cause: error });
    throw error;
  }
}

/** Returns the first certificate of a PEM text. Throws UserError if there is none. */
export function checkAuthority(flag: string, pem: string): X509Certificate {
  try {
    return new X509Certificate(pem);
  } catch (error) {
    throw new UserError(`${flag}: the certificate cannot be read: ${(error as Error).message}`, {
      cause: error,
    });
  }
}

/** Throws UserError if the two are no certificate and its key. */
export function checkKeyPair(
  flag: string,
  { cert, key }: { readonly cert: string; readonly key: string },
): void {
  try {
    createSecureContext({ cert, key });
  } catch (error) {
    throw new UserError(
      `${flag}: the certificate and its key cannot be used: ${(error as Error).message}`,
      {
        cause: error,
      },
    );
  }
}

/** Returns the server and the credentials of a kubeconfig's current context. Throws UserError. */
export async function readKubeconfig(flag: string, path: string): Promise<ServerAccess> {
  try {
    return await loadKubeconfig(path);
  } catch (error) {
    if (error instanceof KubeconfigError)
      throw new UserError(`${flag}: ${error.message}`, { cause: error });
    throw error;
  }
}

/** `component`: how it calls itself, and who then owns what it writes: 'kube-scheduler'. */
export function clientFor(
  access: ServerAccess,
  component: string,
  { clock, logger }: RoleConfig,
): Client {
  const userAgent = `${component}/${KUBERNETES_VERSION.gitVersion}`;
  const onWarning = (message: string): void => logger.info('the server warns', { message });
  return createClient(createHttpTransport({ ...access, clock, userAgent, onWarning }));
}

/** Runs a function until `stop`. Reports if the function ends by itself. */
export function supervised(
  name: string,
  run: (signal: AbortSignal) => Promise<void>,
): Pick<RunningRole, 'failed' | 'stop'> {
  const abort = new AbortController();
  let fail!: (reason: Error) => void;
  const failed = new Promise<Error>((resolve) => (fail = resolve));
  const running = run(abort.signal).then(
    () => {
      if (!abort.signal.aborted) fail(new Error(`the ${name} has ended`));
    },
    (error: unknown) => {
      const message = errorMessage(error);
      if (!abort.signal.aborted)
        fail(new Error(`the ${name} failed: ${message}`, { cause: error }));
    },
  );
  return {
    failed,
    async stop() {
      abort.abort(new Error(`the ${name} stops`));
      await running;
    },
  };
}
