// The role `cox runtime`: a runtime without a kubelet, at a CRI socket.

import { join, resolve } from 'node:path';
import type { Runtime } from '#cri/index.ts';
import { serveCri } from '#runtime/cri-server/index.ts';
import { createProcessRuntime } from '#runtime/process/index.ts';
import { createSimulatedRuntime, realistic } from '#runtime/simulated/runtime.ts';
import { UserError } from '../user-error.ts';
import type { RoleConfig, RunningRole } from './role.ts';

export interface RuntimeRoleConfig extends RoleConfig {
  readonly type: 'process' | 'simulated';
  /** unix:///path, or a path. */
  readonly listen: string;
  /** The directory of the runtime's state. */
  readonly dataDir: string;
}

/**
 * Starts the runtime and serves it. Containers of the process runtime keep running when it stops.
 * Rejects with a UserError if the socket cannot be made.
 */
export async function startRuntimeRole(config: RuntimeRoleConfig): Promise<RunningRole> {
  const { listen, clock, random, logger } = config;
  if (!/^unix:\/\/\/|^\//.test(listen))
    throw new UserError(`--listen must be unix:///PATH, not ${JSON.stringify(listen)}`);
  const runtime = makeRuntime(config);
  try {
    const server = await serveCri({ runtime, endpoint: listen, clock, random, logger });
    let stopped: Promise<void> | undefined;
    const stop = async (): Promise<void> => {
      await server.close();
      await runtime.close();
    };
    return {
      description: `the runtime ${runtime.name} serves CRI at ${listen}`,
      failed: new Promise(() => undefined),
      stop: () => (stopped ??= stop()),
    };
  } catch (error) {
    await runtime.close();
    throw new UserError(`the socket ${listen} cannot be made`, { cause: error });
  }
}

function makeRuntime({ type, dataDir, clock, random, logger }: RuntimeRoleConfig): Runtime {
  if (type === 'simulated') return createSimulatedRuntime({ clock, random, ...realistic });
  return createProcessRuntime({
    stateDir: join(resolve(dataDir), 'runtime', 'process'),
    clock,
    random,
    logger,
  });
}
