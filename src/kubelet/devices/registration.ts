// The socket at which device plugins register: device-plugins/kubelet.sock in the kubelet's root
// directory. The plugins' own sockets are in the same directory. The kubelet removes them when it
// starts, and plugins that see this register again.

import { lstat, mkdir, readdir, rm } from 'node:fs/promises';
import { basename, join } from 'node:path';
import type { Clock } from '#machinery/clock.ts';
import { errorMessage } from '#machinery/error-message.ts';
import { RpcError } from '#machinery/grpc/rpc-error.ts';
import { RpcServer } from '#machinery/grpc/server.ts';
import type { Logger } from '#machinery/log.ts';
import type { DeviceManager } from './device-manager.ts';
import { isExtendedResource } from '../pod/extended-resource.ts';
import { devicePluginAt } from './plugin.ts';
import { API_VERSION, devicePluginSchema } from './schema.ts';

const SOCKET = 'kubelet.sock';

export interface RegistrationConfig {
  /** The directory device-plugins. */
  readonly directory: string;
  readonly manager: DeviceManager;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Called with each registration. */
  readonly onRegistration?: (resource: string) => void;
}

/** Serves registrations until the signal aborts. Rejects if the socket cannot be made. */
export async function serveRegistrations(
  config: RegistrationConfig,
  signal: AbortSignal,
): Promise<void> {
  const { directory, manager, clock, logger, onRegistration } = config;
  await mkdir(directory, { recursive: true, mode: 0o750 });
  await removeSockets(directory);
  const server = new RpcServer(devicePluginSchema);
  server.addService('Registration', {
    Register: async ({ version, endpoint, resourceName }) => {
      logger.info('device plugin registers', { resource: resourceName, endpoint });
      try {
        checkRegistration(version, endpoint, resourceName);
        onRegistration?.(resourceName);
        const plugin = devicePluginAt(join(directory, endpoint), clock);
        try {
          await manager.connect(resourceName, plugin, signal);
        } catch (error) {
          plugin.close();
          throw error;
        }
      } catch (error) {
        logger.warn('device plugin not registered', { resource: resourceName, err: error });
        throw new RpcError('UNKNOWN', errorMessage(error), { cause: error });
      }
      return {};
    },
  });
  await server.listen(join(directory, SOCKET));
  if (signal.aborted) server.close();
  else signal.addEventListener('abort', () => server.close(), { once: true });
}

/** Throws the reason for which the plugin cannot register. */
function checkRegistration(version: string, endpoint: string, resource: string): void {
  if (version !== API_VERSION) {
    throw new Error(
      `requested API version ${JSON.stringify(version)} is not supported by kubelet. ` +
        `Supported version is ["${API_VERSION}"]`,
    );
  }
  if (!isExtendedResource(resource))
    throw new Error(`the ResourceName ${JSON.stringify(resource)} is invalid`);
  if (endpoint === '' || basename(endpoint) !== endpoint || endpoint === '..')
    throw new Error(
      `the endpoint ${JSON.stringify(endpoint)} is not the name of a socket in the directory of device plugins`,
    );
}

async function removeSockets(directory: string): Promise<void> {
  for (const name of await readdir(directory)) {
    const path = join(directory, name);
    try {
      if ((await lstat(path)).isSocket()) await rm(path, { force: true });
    } catch (error) {
      // A plugin has removed its socket meanwhile.
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    }
  }
}
