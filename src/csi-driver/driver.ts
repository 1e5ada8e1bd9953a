// The driver: serves the storage interface at a socket, and the registration with a kubelet at
// another.

import { mkdirSync, realpathSync } from 'node:fs';
import { join } from 'node:path';
import { registrationSchema } from '#csi/registration-schema.ts';
import { csiSchema } from '#csi/schema.ts';
import { RpcServer } from '#machinery/grpc/server.ts';
import { KeyedMutex } from '#machinery/keyed-mutex.ts';
import { controllerService } from './controller-service.ts';
import { groupControllerService } from './group-controller-service.ts';
import { identityService } from './identity-service.ts';
import { nodeService } from './node-service.ts';
import { isGroupRecord, isSnapshotRecord, isVolumeRecord, Records } from './records.ts';
import { dataPath, type DriverSettings } from './settings.ts';

export interface DriverSockets {
  /** The path of the socket for the storage interface. */
  readonly endpoint: string;
  /** The path of the socket in the kubelet's plugin directory. Absent: it is not registered. */
  readonly registration?: string;
}

const VERSION = '1.0.0';

export class CsiDriver {
  readonly #servers: readonly RpcServer<typeof csiSchema | typeof registrationSchema>[];

  private constructor(servers: readonly RpcServer<typeof csiSchema | typeof registrationSchema>[]) {
    this.#servers = servers;
  }

  /** Reads the volumes and starts to serve. Rejects if a socket cannot be opened. */
  static async start(settings: DriverSettings, sockets: DriverSockets): Promise<CsiDriver> {
    mkdirSync(settings.directory, { recursive: true, mode: 0o700 });
    // As it appears in lists of mount points and devices.
    const directory = realpathSync(settings.directory);
    const own = { ...settings, directory };
    const { logger } = settings;
    const volumes = new Records(join(directory, 'volumes'), isVolumeRecord, logger);
    const snapshots = new Records(join(directory, 'snapshots'), isSnapshotRecord, logger);
    const groups = new Records(join(directory, 'groups'), isGroupRecord, logger);
    const mutex = new KeyedMutex();
    await own.host.thaw(
      volumes
        .list()
        .filter(({ backing, isBlock }) => backing === 'image' && !isBlock)
        .map(({ id }) => dataPath(volumes.directoryOf(id), 'image')),
    );
    const server = new RpcServer(csiSchema);
    server.addService('Identity', identityService(own));
    server.addService(
      'Controller',
      controllerService({ settings: own, volumes, snapshots, mutex }),
    );
    server.addService(
      'GroupController',
      groupControllerService({ settings: own, volumes, snapshots, groups, mutex }),
    );
    server.addService('Node', nodeService({ settings: own, volumes, mutex }));
    await server.listen(sockets.endpoint);
    const servers: RpcServer<typeof csiSchema | typeof registrationSchema>[] = [server];
    if (sockets.registration !== undefined) {
      const registration = new RpcServer(registrationSchema);
      registration.addService('Registration', {
        GetInfo: () => ({
          type: 'CSIPlugin',
          name: settings.name,
          endpoint: sockets.endpoint,
          supportedVersions: [VERSION],
        }),
        NotifyRegistrationStatus: ({ pluginRegistered, error }) => {
          if (pluginRegistered) logger.info('CSI driver registered', { driver: settings.name });
          else logger.error('CSI driver not registered', { driver: settings.name, reason: error });
          return {};
        },
      });
      servers.push(registration);
      await registration.listen(sockets.registration);
    }
    return new CsiDriver(servers);
  }

  /** Stops serving; volumes stay mounted. The kubelet withdraws the driver. */
  stop(): void {
    for (const server of this.#servers.toReversed()) server.close();
  }
}
