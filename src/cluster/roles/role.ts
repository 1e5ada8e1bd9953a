// The common parts of roles that run as processes of their own.

import { errorMessage } from '#machinery/error-message.ts';
import type { Client } from '#client/client.ts';
import { createClient } from '#client/create-client.ts';
import { createHttpTransport, type ServerAccess } from '#client/http/index.ts';
import type { Clock } from '#machinery/clock.ts';
import type { Logger } from '#machinery/log.ts';
import type { Random } from '#machinery/random.ts';
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
