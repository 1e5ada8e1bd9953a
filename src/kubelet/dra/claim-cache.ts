// The claims that drivers have prepared, or may have, on this node, with the pods that use them and
// the devices that drivers have returned. A checkpoint keeps them over restarts, so that every
// prepared claim is unprepared once.

import type { CheckpointFile } from '../checkpoints/checkpoint-file.ts';
import { decodeClaims, encodeClaims } from './checkpoint.ts';
import type { ClaimInfo } from './claim-info.ts';

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
