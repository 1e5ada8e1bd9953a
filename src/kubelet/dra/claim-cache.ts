// The claims that drivers have prepared, or may have, on this node, with the pods that use them and
// the devices that drivers have returned. A checkpoint keeps them over restarts, so that every
// prepared claim is unprepared once.

import type { CheckpointFile } from '../checkpoints/checkpoint-file.ts';
import { decodeClaims, encodeClaims } from './checkpoint.ts';

export interface PreparedDevice {
  readonly poolName: string;
  readonly deviceName: string;
  readonly shareId?: string | undefined;
  readonly requestNames: readonly string[];
  readonly cdiDeviceIds: readonly string[];
}

export interface ClaimInfo {
  readonly uid: string;
  readonly name: string;
  readonly namespace: string;
  /** The UIDs of the pods that use the claim on this node. */
  readonly pods: Set<string>;
  /** The devices by driver. Every driver of the claim has an entry, even without devices. */
  readonly drivers: Map<string, readonly PreparedDevice[]>;
  /** All drivers have prepared the claim since the kubelet started. */
  isPrepared: boolean;
}

export class ClaimCache {
  readonly #file: CheckpointFile;
  readonly #claims = new Map<string, ClaimInfo>();

  constructor(file: CheckpointFile) {
    this.#file = file;
  }

  /** Reads the checkpoint. Rejects if it is damaged. */
  async restore(): Promise<void> {
    const contents = await this.#file.read();
    if (contents === undefined) return;
    for (const info of decodeClaims(contents)) this.add(info);
  }

  get(namespace: string, name: string): ClaimInfo | undefined {
    return this.#claims.get(`${namespace}/${name}`);
  }

  add(info: ClaimInfo): void {
    this.#claims.set(`${info.namespace}/${info.name}`, info);
  }

  delete(info: ClaimInfo): void {
    if (this.get(info.namespace, info.name) === info)
      this.#claims.delete(`${info.namespace}/${info.name}`);
  }

  values(): Iterable<ClaimInfo> {
    return this.#claims.values();
  }

  /** Writes the checkpoint. */
  async save(): Promise<void> {
    await this.#file.write(encodeClaims([...this.#claims.values()]));
  }
}

/** Returns the CDI devices of the claim for a request; '' stands for all requests. */
export function cdiDevicesOf(info: ClaimInfo, request: string): readonly string[] {
  return [...info.drivers.values()]
    .flat()
    .filter(({ requestNames }) => isForRequest(requestNames, request))
    .flatMap(({ cdiDeviceIds }) => cdiDeviceIds);
}

/** Reports whether a device with these requests belongs to the request. */
export function isForRequest(requestNames: readonly string[], request: string): boolean {
  return request === '' || requestNames.length === 0 || requestNames.includes(request);
}
