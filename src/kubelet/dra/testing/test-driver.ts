// A DRA driver for tests: it publishes ResourceSlices, registers with a kubelet, prepares claims, and
// misbehaves on demand.

import { resourceSlices } from '#api/groups/resource/v1/index.ts';
import type { Client } from '#client/client.ts';
import type { Input } from '#machinery/grpc/schema.ts';
import { RpcServer } from '#machinery/grpc/server.ts';
import { join } from 'node:path';
import { registrationSchema } from '#csi/registration-schema.ts';
import { type DraSchema, draSchemaV1, draSchemaV1beta1 } from '../schema.ts';

type Device = Input<DraSchema, 'Device'>;
interface Claim {
  readonly namespace: string;
  readonly uid: string;
  readonly name: string;
}

export interface TestDriverConfig {
  readonly client: Client;
  readonly nodeName: string;
  /** The kubelet's root directory. */
  readonly rootDir: string;
  readonly name: string;
  readonly devices: readonly string[];
  /** Default: 'v1'. */
  readonly version?: 'v1' | 'v1beta1';
  /** Default: one device, with a CDI id. */
  readonly prepare?: (claim: Claim) => Promise<readonly Device[]>;
}

export class TestDraDriver {
  readonly prepared = new Map<string, number>();
  readonly unprepared: string[] = [];
  /** Errors to return for the next calls, by name of the claim. */
  readonly unprepareErrors = new Map<string, string>();
  failedUnprepares = 0;
  registrationError: string | undefined;
  isRegistered = false;
  readonly #config: TestDriverConfig;
  #servers: { close(): void }[] = [];

  constructor(config: TestDriverConfig) {
    this.#config = config;
  }

  /** Publishes the devices as a ResourceSlice of the node. */
  async publish(): Promise<void> {
    const { client, nodeName, name, devices } = this.#config;
    await client.resource(resourceSlices).create({
      metadata: { name: `${nodeName}-${name}` },
      spec: {
        driver: name,
        nodeName,
        pool: { name: nodeName, generation: 1, resourceSliceCount: 1 },
        devices: devices.map((device) => ({ name: device })),
      },
    });
  }

  /** Serves the driver, then its registration. `services`: what it claims to serve. */
  async start(services?: readonly string[]): Promise<void> {
    const { rootDir, name, version = 'v1' } = this.#config;
    const endpoint = join(rootDir, 'plugins', name, 'dra.sock');
    // Both versions have the same messages.
    const schema = (version === 'v1' ? draSchemaV1 : draSchemaV1beta1) as DraSchema;
    const server = new RpcServer(schema);
    server.addService('DRAPlugin', {
      NodePrepareResources: async ({ claims }) => ({
        claims: Object.fromEntries(
          await Promise.all(claims.map(async (claim) => [claim.uid, await this.#prepare(claim)])),
        ) as Record<string, Input<DraSchema, 'NodePrepareResourceResponse'>>,
      }),
      NodeUnprepareResources: ({ claims }) => ({
        claims: Object.fromEntries(
          claims.map((claim) => [claim.uid, { error: this.#unprepare(claim) }]),
        ),
      }),
    });
    await server.listen(endpoint);
    const registration = new RpcServer(registrationSchema);
    registration.addService('Registration', {
      GetInfo: () => ({
        type: 'DRAPlugin',
        name,
        endpoint,
        supportedVersions: services ?? [`${version}.DRAPlugin`],
      }),
      NotifyRegistrationStatus: ({ pluginRegistered, error }) => {
        this.isRegistered = pluginRegistered;
        this.registrationError = error === '' ? undefined : error;
        return {};
      },
    });
    await registration.listen(join(rootDir, 'plugins_registry', `${name}-reg.sock`));
    this.#servers = [server, registration];
  }

  stop(): void {
    for (const server of this.#servers.splice(0)) server.close();
    this.isRegistered = false;
  }

  async #prepare(claim: Claim): Promise<Input<DraSchema, 'NodePrepareResourceResponse'>> {
    const { prepare, name, nodeName } = this.#config;
    this.prepared.set(claim.name, (this.prepared.get(claim.name) ?? 0) + 1);
    try {
      const devices = (await prepare?.(claim)) ?? [
        {
          requestNames: [],
          poolName: nodeName,
          deviceName: this.#config.devices[0]!,
          cdiDeviceIds: [`${name}/claim=${claim.uid}`],
        },
      ];
      return { devices };
    } catch (error) {
      return { error: error instanceof Error ? error.message : String(error) };
    }
  }

  #unprepare(claim: Claim): string {
    const error = this.unprepareErrors.get(claim.name);
    if (error !== undefined) {
      this.failedUnprepares++;
      return error;
    }
    this.unprepared.push(claim.name);
    return '';
  }
}
