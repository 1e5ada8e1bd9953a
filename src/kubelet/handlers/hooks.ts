// Lifecycle hooks: actions that a container requests after its start and before its stop.

import type { RuntimeService } from '#cri/index.ts';
import type { Clock } from '#machinery/clock.ts';
import { quote } from '#machinery/text/go-format.ts';
import { errorMessage } from '#machinery/error-message.ts';
import type { Container, LifecycleHandler, Pod } from '../types.ts';
import { actionTarget, BodyError, httpGet } from './network.ts';
import { untilAborted } from './timeout.ts';

export interface HookRunnerConfig {
  readonly runtime: RuntimeService;
  readonly clock: Clock;
  readonly userAgent: string;
  /**
   * False: pods have no reachable network (see KubeletConfig.podNetwork), so that calls always
   * succeed.
   */
  readonly podNetwork: boolean;
}

/** A failed hook; the message is for the pod's owner. */
export class HookError extends Error {}

export class HookRunner {
  readonly #config: HookRunnerConfig;

  constructor(config: HookRunnerConfig) {
    this.#config = config;
  }

  /**
   * Runs a hook. Rejects with HookError, or with the signal's reason. As upstream, a postStart hook
   * has no deadline, but ends when its pod is deleted; a preStop hook has the pod's grace period.
   */
  async run(
    pod: Pod,
    container: Container,
    containerId: string,
    podIP: string,
    handler: LifecycleHandler,
    signal: AbortSignal,
  ): Promise<void> {
    const place =
      `for Container ${quote(container.name)} in Pod ` +
      quote(`${pod.metadata.name}_${pod.metadata.namespace}(${pod.metadata.uid})`);
    if (handler.exec !== undefined) {
      const command = handler.exec.command ?? [];
      await this.#exec(
        containerId,
        command,
        `Exec lifecycle hook ([${command.join(' ')}]) ${place} failed`,
        signal,
      );
    } else if (handler.httpGet !== undefined) {
      if (!this.#config.podNetwork) return;
      try {
        // As upstream: any response counts as success, whatever its status.
        await httpGet(
          actionTarget(handler.httpGet, container, podIP),
          handler.httpGet,
          this.#config.userAgent,
          signal,
        );
      } catch (error) {
        if (signal.aborted) throw error;
        // The peer has responded; the rest of its response is not needed.
        if (error instanceof BodyError) return;
        throw new HookError(
          `HTTP lifecycle hook (${handler.httpGet.path ?? ''}) ${place} failed - error: ${errorMessage(error)}`,
          {
            cause: error,
          },
        );
      }
    } else if (handler.sleep !== undefined)
      await this.#config.clock.sleep(handler.sleep.seconds * 1000, signal);
    else throw new HookError(`Cannot run handler ${place}: it is none of exec, httpGet and sleep`);
  }

  async #exec(
    containerId: string,
    command: readonly string[],
    failure: string,
    signal: AbortSignal,
  ): Promise<void> {
    let output = '';
    try {
      const result = await untilAborted(
        this.#config.runtime.execSync(containerId, command, { signal, timeoutMs: 2 ** 31 - 1 }),
        signal,
      );
      output = Buffer.concat([result.stdout, result.stderr]).toString('utf8');
      if (result.exitCode === 0) return;
      throw new Error(`command '${command.join(' ')}' exited with ${result.exitCode}: ${output}`);
    } catch (error) {
      if (signal.aborted) throw error;
      throw new HookError(`${failure} - error: ${errorMessage(error)}, message: ${quote(output)}`, {
        cause: error,
      });
    }
  }
}
