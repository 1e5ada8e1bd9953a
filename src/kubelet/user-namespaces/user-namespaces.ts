// Gives pods with `hostUsers: false` their user namespaces, and keeps which IDs each has.

import type { Input } from '#cri/types.ts';
import { errorMessage } from '#machinery/error-message.ts';
import { podUid, type Pod } from '../types.ts';
import { ALL_IDS, type IdRange, IdRanges } from './id-ranges.ts';
import type { MappingFiles } from './mapping-files.ts';
import { formatMappings, parseMappings } from './mappings.ts';

/** The default of `userNamespaces.idsPerPod`. */
export const IDS_PER_POD = 65_536;

/** A handler of the runtime, with its features. */
export interface HandlerFeatures {
  readonly name: string;
  readonly features?: { readonly userNamespaces?: boolean };
}

export interface UserNamespacesConfig {
  readonly files: MappingFiles;
  readonly idsPerPod: number;
  readonly maxPods: number;
  /** Returns the runtime's handlers; empty if the runtime does not report them. */
  readonly handlers: () => Promise<readonly HandlerFeatures[]>;
  /** Returns the IDs for pods. Undefined: all but the first `idsPerPod`. */
  readonly subordinateIds: () => Promise<IdRange | undefined>;
}

export type UserNamespace = Input<'UserNamespace'>;

const NODE: UserNamespace = { mode: 'NODE' };

export class UserNamespaces {
  readonly #config: UserNamespacesConfig;
  #ranges: Promise<IdRanges> | undefined;

  constructor(config: UserNamespacesConfig) {
    this.#config = config;
  }

  /**
   * Reads the ranges of pods from the last run. Rejects with upstream's message if a file is
   * corrupt, or the IDs of the machine do not suffice.
   */
  async reconstruct(uids: readonly string[]): Promise<void> {
    for (const uid of uids) {
      const contents = await this.#config.files.read(uid);
      if (contents === undefined || contents === '') continue;
      try {
        (await this.#allRanges()).record(uid, parseMappings(contents));
      } catch (error) {
        const reason = errorMessage(error);
        throw new Error(`record pod mappings for existing pod "${uid}": ${reason}`, {
          cause: error,
        });
      }
    }
  }

  /**
   * Returns the user namespace of the pod's sandbox and containers. The first call for a pod assigns
   * a range. Rejects with upstream's message if the runtime cannot do it.
   */
  async optionsFor(pod: Pod, runtimeHandler: string): Promise<UserNamespace> {
    if (pod.spec.hostUsers !== false) return NODE;
    await this.#checkHandler(runtimeHandler);
    const uid = podUid(pod);
    const contents = await this.#config.files.read(uid);
    const ranges = await this.#allRanges();
    let range: IdRange;
    if (contents !== undefined && contents !== '') {
      try {
        range = parseMappings(contents);
        ranges.record(uid, range);
      } catch (error) {
        throw new Error(`user namespace: ${errorMessage(error)}`, { cause: error });
      }
    } else range = await this.#create(ranges, uid);
    const mappings = [{ hostId: range.first, containerId: 0, length: range.length }];
    return { mode: 'POD', uids: mappings, gids: mappings };
  }

  /** Makes the range of a pod free, whose containers have ended for good. */
  async release(uid: string): Promise<void> {
    // Without ranges no pod has one.
    if (this.#ranges === undefined) return;
    const ranges = await this.#ranges;
    ranges.release(uid);
    await this.#config.files.remove(uid);
  }

  /** Makes the ranges of unknown pods free. */
  async releaseOrphans(isKnown: (uid: string) => boolean): Promise<void> {
    if (this.#ranges === undefined) return;
    for (const uid of (await this.#ranges).pods()) if (!isKnown(uid)) await this.release(uid);
  }

  async #create(ranges: IdRanges, uid: string): Promise<IdRange> {
    try {
      const range = ranges.allocate(uid);
      try {
        await this.#config.files.write(uid, formatMappings(range));
        return range;
      } catch (error) {
        ranges.release(uid);
        throw error;
      }
    } catch (error) {
      throw new Error(`create user namespace: ${errorMessage(error)}`, { cause: error });
    }
  }

  async #checkHandler(name: string): Promise<void> {
    const handlers = await this.#config.handlers();
    const handler = handlers.find((candidate) => candidate.name === name);
    if (handler?.features?.userNamespaces === true) return;
    const which = name === '' ? 'runtime' : `RuntimeClass handler ${JSON.stringify(name)}`;
    const unknown =
      handlers.length > 0 && handler === undefined
        ? `: the handler ${JSON.stringify(name)} is not known`
        : '';
    throw new Error(
      `can't set \`spec.hostUsers: false\`, ${which} does not support user namespaces${unknown}`,
    );
  }

  /** Returns the ranges. The machine is asked at the first need: few nodes have such pods. */
  #allRanges(): Promise<IdRanges> {
    this.#ranges ??= this.#readRanges().catch((error: unknown) => {
      // The next pod tries again.
      this.#ranges = undefined;
      throw error;
    });
    return this.#ranges;
  }

  async #readRanges(): Promise<IdRanges> {
    const { idsPerPod, maxPods, subordinateIds } = this.#config;
    let available: IdRange | undefined;
    try {
      available = await subordinateIds();
    } catch (error) {
      throw new Error(`kubelet mappings: ${errorMessage(error)}`, { cause: error });
    }
    const rest = { first: idsPerPod, length: ALL_IDS - idsPerPod };
    return new IdRanges(available ?? wholeRanges(rest, idsPerPod), idsPerPod, maxPods);
  }
}

/** Returns the part of the range that whole ranges of pods fill. */
const wholeRanges = ({ first, length }: IdRange, idsPerPod: number): IdRange => ({
  first,
  length: length - (length % idsPerPod),
});
