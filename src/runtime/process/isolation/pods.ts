// Pods: a process that holds the namespaces of each, its network, its host ports and its files.

import { existsSync, mkdirSync, rmSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { CriError, type PodSandboxConfig } from '#cri/index.ts';
import type { Clock } from '#machinery/clock.ts';
import { execute } from '#machinery/execute.ts';
import type { Logger } from '#machinery/log.ts';
import { AddressPool } from '../../address-pool.ts';
import { isAlive, signalProcess } from '../../process-identity.ts';
import type { SandboxRecord } from '../../records.ts';
import { startHolder, sysctlFiles } from './holder.ts';
import { type InterfaceReading, parseInterfaces } from './metrics.ts';
import { networkOf } from './namespace-modes.ts';
import { PodNetwork } from './network.ts';
import { writePodFiles } from './pod-files.ts';
import { checkPortMappings, PortMap } from './port-map.ts';
import type { Programs } from './programs.ts';

export interface IsolatedPodsConfig {
  readonly stateDir: string;
  /** The PATH of the host's programs. */
  readonly path: string;
  /** The addresses of pods. */
  readonly podCidr: string;
  readonly programs: Programs;
  /** Runs mount(8). Rejects with CriError. */
  readonly mount: (...args: string[]) => Promise<void>;
  readonly clock: Clock;
  readonly logger: Logger;
}

const SHM_OPTIONS = 'nosuid,nodev,noexec,mode=1777,size=65536k';

export class IsolatedPods {
  readonly #config: IsolatedPodsConfig;
  readonly #network: PodNetwork;
  readonly #addresses: AddressPool;
  readonly #ports = new Map<string, PortMap>();

  constructor(config: IsolatedPodsConfig) {
    const { stateDir, podCidr: cidr, programs, logger } = config;
    this.#config = config;
    this.#addresses = new AddressPool(cidr);
    this.#network = new PodNetwork({ ...programs, owner: stateDir, cidr, logger });
  }

  /** Throws InvalidArgument for what cannot be done. */
  check(config: PodSandboxConfig): void {
    checkPortMappings(config.portMappings ?? []);
    const options = config.linux?.securityContext?.namespaceOptions;
    const { usernsOptions } = options ?? {};
    if (usernsOptions !== undefined && usernsOptions.mode !== 'NODE')
      throw new CriError('InvalidArgument', 'user namespaces are not supported by this runtime');
    sysctlFiles(config.linux?.sysctls ?? {}, {
      net: options?.network !== 'NODE',
      ipc: options?.ipc !== 'NODE',
    });
  }

  /** Returns an address for a pod with a network of its own; '' for others. */
  allocateAddress(config: PodSandboxConfig): string {
    return networkOf(config) === 'NODE' ? '' : this.#addresses.allocate();
  }

  /** Makes the pod's namespaces, files and network. Rejects after undoing what was made. */
  async start(record: SandboxRecord): Promise<void> {
    const { config, id, ip } = record;
    const options = config.linux?.securityContext?.namespaceOptions;
    const own = { net: options?.network !== 'NODE', ipc: options?.ipc !== 'NODE' };
    try {
      writePodFiles(this.directory(id), record);
      if (own.ipc) {
        mkdirSync(this.sharedMemory(id), { mode: 0o711 });
        await this.#config.mount('-t', 'tmpfs', '-o', SHM_OPTIONS, 'shm', this.sharedMemory(id));
      }
      record.holder = await startHolder({
        fifo: join(this.directory(id), 'hold'),
        unshare: this.#config.programs.unshare,
        namespaces: [
          ...(own.net ? ['--net', '--uts'] : []),
          ...(own.ipc ? ['--ipc'] : []),
          ...((options?.pid ?? 'POD') === 'POD' ? ['--pid'] : []),
        ],
        hostname: own.net ? (config.hostname ?? '') : '',
        sysctls: sysctlFiles(config.linux?.sysctls ?? {}, own),
        path: this.#config.path,
      });
      if (own.net) {
        await this.#network.attach(record.holder.pid, id, ip);
        await this.#openPorts(record);
      }
    } catch (error) {
      await this.stop(record);
      this.remove(id);
      throw error;
    }
  }

  async #openPorts({ id, config, ip }: SandboxRecord): Promise<void> {
    const map = new PortMap(this.#config);
    await map.open(config.portMappings ?? [], ip);
    this.#ports.set(id, map);
  }

  /** Takes over a pod of a former runtime. Returns false if its namespaces are gone. */
  adopt(record: SandboxRecord): boolean {
    if (record.holder === undefined || !isAlive(record.holder)) return false;
    this.#addresses.reserve(record.ip);
    if (record.ip !== '')
      this.#openPorts(record).catch((error: unknown) =>
        this.#config.logger.error('host ports of a pod not opened', { pod: record.id, err: error }),
      );
    return true;
  }

  /** Ends the pod's namespaces. Idempotent. */
  async stop(record: SandboxRecord): Promise<void> {
    const { id, ip, holder } = record;
    this.#ports.get(id)?.close();
    this.#ports.delete(id);
    if (holder !== undefined && isAlive(holder)) signalProcess(holder, 'SIGKILL');
    const shm = this.sharedMemory(id);
    if (existsSync(shm)) {
      await execute([this.#config.programs.umount, '-l', shm], '');
      rmSync(shm, { recursive: true, force: true });
    }
    this.#addresses.release(ip);
  }

  remove(id: string): void {
    rmSync(this.directory(id), { recursive: true, force: true });
  }

  /** The directory of a pod's shared memory. */
  sharedMemory(id: string): string {
    return join(this.#config.stateDir, 'mounts', 'shm', id);
  }

  /** The directory of a pod's files. */
  directory(id: string): string {
    return join(this.#config.stateDir, 'pods', id);
  }

  /** Returns the interfaces of a pod with a network of its own. */
  async interfaces({ holder, ip }: SandboxRecord): Promise<readonly InterfaceReading[]> {
    if (holder === undefined || ip === '') return [];
    return parseInterfaces(await readFile(`/proc/${holder.pid}/net/dev`, 'utf8').catch(() => ''));
  }

  /** Closes host ports. Containers keep running. */
  close(): void {
    for (const map of this.#ports.values()) map.close();
    this.#ports.clear();
  }
}
