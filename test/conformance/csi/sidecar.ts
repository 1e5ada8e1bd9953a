// The sidecars of CSI drivers, as one program of the tests' images: the controllers of
// src/controllers/csi beside a driver in a pod. The first argument names the sidecar; the others are
// the flags of the published one, as far as the tests set them.

import { parseArgs } from 'node:util';
import { inClusterAccess } from '#client/credentials/in-cluster.ts';
import { createClient } from '#client/create-client.ts';
import { createHttpTransport } from '#client/http/index.ts';
import { SharedInformerFactory } from '#client/informers/index.ts';
import {
  CsiAttacher,
  csiControllerService,
  CsiProvisioner,
  CsiResizer,
  type CsiControllerConfig,
} from '#controllers/csi/index.ts';
import type { Controller } from '#controllers/controller.ts';
import { registrationSchema } from '#csi/registration-schema.ts';
import { csiSchema } from '#csi/schema.ts';
import { systemClock as clock } from '#machinery/clock.ts';
import { RpcConnection } from '#machinery/grpc/connection.ts';
import { RpcServer } from '#machinery/grpc/server.ts';
import { createLogger } from '#machinery/log.ts';
import { systemRandom as random } from '#machinery/random.ts';

const CONTROLLERS: Readonly<
  Record<string, ((config: CsiControllerConfig) => Controller) | undefined>
> = {
  'csi-provisioner': (config) => new CsiProvisioner(config),
  'csi-attacher': (config) => new CsiAttacher(config),
  'csi-resizer': (config) => new CsiResizer(config),
};

const RETRY_MS = 500;

async function main([sidecar = '', ...args]: readonly string[]): Promise<void> {
  const { values: flags } = parseArgs({
    args: [...args],
    options: {
      'csi-address': { type: 'string', default: '/csi/csi.sock' },
      'kubelet-registration-path': { type: 'string' },
      'default-fstype': { type: 'string', default: '' },
      // These change nothing here: topology is always on, and the rest is about logs and limits.
      'feature-gates': { type: 'string', multiple: true },
      'worker-threads': { type: 'string' },
      timeout: { type: 'string' },
      v: { type: 'string', short: 'v' },
    },
  });
  const logger = createLogger().with({ component: sidecar });
  const stop = new AbortController();
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, () => stop.abort());
  const { signal } = stop;
  const endpoint = flags['csi-address'];
  const driver = await driverName(endpoint, signal);
  logger.info('connected with the driver', { driver });
  if (sidecar === 'csi-node-driver-registrar') {
    const path = flags['kubelet-registration-path'];
    if (path === undefined) throw new Error('--kubelet-registration-path is needed');
    return await register(driver, path, signal);
  }
  const create = CONTROLLERS[sidecar];
  if (create === undefined) throw new Error(`there is no sidecar '${sidecar}' here`);
  const access = await inClusterAccess({ clock });
  const client = createClient(createHttpTransport({ ...access, clock, userAgent: sidecar }));
  const informers = new SharedInformerFactory({ client, clock, random, logger });
  const service = csiControllerService(endpoint, clock, signal);
  const defaultFsType = flags['default-fstype'];
  const controller = create({
    client,
    clock,
    random,
    logger,
    informers,
    driver,
    service,
    defaultFsType,
  });
  informers.start(signal);
  await controller.run(signal);
}

/** Returns the name of the driver at the socket, as soon as it serves. */
async function driverName(endpoint: string, signal: AbortSignal): Promise<string> {
  for (;;) {
    const connection = new RpcConnection(csiSchema, endpoint, clock);
    try {
      const options = { timeoutMs: 30_000, signal };
      return (await connection.call('Identity', 'GetPluginInfo', {}, options)).name;
    } catch (error) {
      signal.throwIfAborted();
      process.stderr.write(`the driver does not respond yet: ${String(error)}\n`);
      await clock.sleep(RETRY_MS, signal);
    } finally {
      connection.close();
    }
  }
}

/** Serves the registration of a driver to the kubelet, until the signal aborts. */
async function register(name: string, endpoint: string, signal: AbortSignal): Promise<void> {
  const server = new RpcServer(registrationSchema);
  server.addService('Registration', {
    GetInfo: () => ({ type: 'CSIPlugin', name, endpoint, supportedVersions: ['1.0.0'] }),
    NotifyRegistrationStatus: ({ pluginRegistered, error }) => {
      process.stderr.write(pluginRegistered ? 'registered\n' : `not registered: ${error}\n`);
      // The kubelet may not have found the driver yet: the next process asks again.
      if (!pluginRegistered) process.exit(1);
      return {};
    },
  });
  await server.listen(`/registration/${name}-reg.sock`);
  await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve()));
  server.close();
}

try {
  await main(process.argv.slice(2));
} catch (error) {
  process.stderr.write(
    `${error instanceof Error ? (error.stack ?? error.message) : String(error)}\n`,
  );
  process.exitCode = 1;
}
process.exit();
