// The CSI drivers that are registered on this node. A driver that registers is asked for its node
// information, which is recorded in the API; then its volumes can be mounted.

import { errorMessage } from '#machinery/error-message.ts';
import type { Logger } from '#machinery/log.ts';
import type { PluginHandler, Plugin } from '../../plugins/index.ts';
import type { CsiNodeService } from './node-client.ts';
import type { DriverNodeInfo } from './node-info.ts';

export interface DriverRegistryConfig {
  readonly logger: Logger;
  readonly connect: (endpoint: string) => CsiNodeService;
  /** Records drivers in the API (CSINode and Node). */
  readonly nodeInfo: {
    install(driver: string, info: DriverNodeInfo): Promise<void>;
    uninstall(driver: string): Promise<void>;
  };
}

interface Registered {
  readonly endpoint: string;
  readonly version: Version;
  readonly service: CsiNodeService;
}

type Version = readonly number[];

export class DriverRegistry implements PluginHandler {
  readonly #config: DriverRegistryConfig;
  readonly #drivers = new Map<string, Registered>();

  constructor(config: DriverRegistryConfig) {
    this.#config = config;
  }

  /** Returns the driver. Throws if it is not registered. */
  get(name: string): CsiNodeService {
    const driver = this.#drivers.get(name);
    if (driver === undefined)
      throw new Error(`driver name ${name} not found in the list of registered CSI drivers`);
    return driver.service;
  }

  has(name: string): boolean {
    return this.#drivers.has(name);
  }

  validate({ name, endpoint, versions }: Plugin): void {
    try {
      this.#version('ValidatePlugin', name, versions);
    } catch (error) {
      throw new Error(
        `validation failed for CSI Driver ${name} at endpoint ${endpoint}: ${errorMessage(error)}`,
        { cause: error },
      );
    }
  }

  async register({ name, endpoint, versions }: Plugin): Promise<void> {
    const version = this.#version('RegisterPlugin', name, versions);
    const service = this.#config.connect(endpoint);
    try {
      await this.#install(name, service);
    } catch (error) {
      service.close();
      // A plugin that does not work leaves the one that does.
      if (!this.#drivers.has(name)) await this.#uninstall(name);
      throw error;
    }
    this.#drivers.get(name)?.service.close();
    this.#drivers.set(name, { endpoint, version, service });
  }

  /**
   * Records the present node information of a driver: the number of volumes that the node can have
   * may have changed. Rejects if the driver is not registered.
   */
  async refresh(name: string): Promise<void> {
    await this.#install(name, this.get(name));
  }

  async #install(name: string, service: CsiNodeService): Promise<void> {
    const { nodeId, maxVolumesPerNode, accessibleTopology } = await service.info();
    await this.#config.nodeInfo.install(name, {
      nodeId,
      maxVolumes: maxVolumesPerNode,
      topology: accessibleTopology?.segments ?? {},
    });
  }

  async deregister({ name, endpoint }: Plugin): Promise<void> {
    const driver = this.#drivers.get(name);
    // Another plugin has registered the driver meanwhile.
    if (driver === undefined || driver.endpoint !== endpoint) return;
    await this.#remove(name, driver.service);
  }

  close(): void {
    for (const { service } of this.#drivers.values()) service.close();
    this.#drivers.clear();
  }

  async #remove(name: string, service: CsiNodeService): Promise<void> {
    if (this.#drivers.get(name)?.service !== service) return;
    this.#drivers.delete(name);
    service.close();
    await this.#uninstall(name);
  }

  async #uninstall(name: string): Promise<void> {
    try {
      await this.#config.nodeInfo.uninstall(name);
    } catch (error) {
      this.#config.logger.error('kubernetes.io/csi: Error uninstalling CSI driver', {
        driver: name,
        err: error,
      });
    }
  }

  #version(caller: string, name: string, versions: readonly string[]): Version {
    const prefix = `kubernetes.io/csi: ${caller} for CSI driver "${name}" failed.`;
    if (versions.length === 0)
      throw new Error(`${prefix} Plugin returned an empty list for supported versions`);
    const version = highestVersion(versions);
    if (version === undefined) {
      const all = versions.map((each) => JSON.stringify(each)).join(' ');
      throw new Error(
        `${prefix} None of the versions specified [${all}] are supported. err=must be v1.x`,
      );
    }
    const present = this.#drivers.get(name);
    if (present !== undefined && compareVersions(present.version, version) >= 0) {
      throw new Error(
        `${prefix} Another driver with the same name is already registered with a higher ` +
          `supported version: "${present.version.join('.')}"`,
      );
    }
    return version;
  }
}

/** Returns the highest version if it is 1.x; versions from 2 on are ignored. */
function highestVersion(versions: readonly string[]): Version | undefined {
  const parsed = versions
    .filter((version) => /^v?\d+(\.\d+)+([-+].*)?$/.test(version))
    .map((version) => version.replace(/^v/, '').split(/[-+]/)[0]!.split('.').map(Number))
    .filter(([major = 0]) => major <= 1)
    .toSorted(compareVersions);
  const highest = parsed.at(-1);
  return highest?.[0] === 1 ? highest : undefined;
}

function compareVersions(a: Version, b: Version): number {
  for (let index = 0; index < Math.max(a.length, b.length); index++) {
    const difference = (a[index] ?? 0) - (b[index] ?? 0);
    if (difference !== 0) return difference;
  }
  return 0;
}
