// The nftables back end. It has one table per family, and one transaction for each bounded part of
// an update.

import type { Clock } from '#machinery/clock.ts';
import { errorMessage } from '#machinery/error-message.ts';
import type { Logger } from '#machinery/log.ts';
import type { IpFamily } from '#machinery/net/ip.ts';
import { type Nft, removalOf } from '#machinery/net/nft/index.ts';
import { nextTurn } from '#machinery/turn.ts';
import type { Backend, RulesUpdate, ServiceRules } from '../model.ts';
import type { FlowCleaner } from './flows.ts';
import { FamilyTable } from './family-table.ts';
import { type Listing, parseListing, UnusableTableError } from './listing.ts';
import { type TableSettings, wordsOf } from './table.ts';

export interface NftablesBackendConfig {
  readonly nft: Nft;
  readonly families: readonly IpFamily[];
  readonly settings: () => TableSettings;
  /** Deletes UDP flows to removed endpoints. Undefined: they end by their timeout. */
  readonly flows: FlowCleaner | undefined;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Replaces RELISTED_ELEMENTS in tests. */
  readonly relistedElements?: number;
}

/**
 * The maximum number of targets per transaction. The kernel applies a transaction atomically; a
 * larger one would hold the tables' lock longer.
 */
const TARGETS_PER_TRANSACTION = 10_000;
/**
 * A table with more elements is listed at the start and after an error, but not at every complete
 * update: parsing a listing blocks the process for tens of milliseconds per 10,000 elements.
 */
const RELISTED_ELEMENTS = 20_000;
/** Parsing a larger listing takes longer than replacing the table. */
const MAX_LISTING_LENGTH = 64 * 1024 * 1024;

export class NftablesBackend implements Backend {
  readonly name = 'nftables';
  readonly #config: NftablesBackendConfig;
  #tables: readonly FamilyTable[] | undefined;
  #closed = false;

  constructor(config: NftablesBackendConfig) {
    this.#config = config;
  }

  async sync({ complete, changes }: RulesUpdate): Promise<void> {
    const { nft, clock, flows } = this.#config;
    if (this.#closed) return;
    if (this.#tables === undefined && !complete)
      throw new TypeError('the first update of a back end is a complete one');
    const present = this.#tables;
    const isLarge = (present ?? []).some(
      (table) => table.programmedElements > (this.#config.relistedElements ?? RELISTED_ELEMENTS),
    );
    let tables = complete && !isLarge ? undefined : present;
    // Until the update has succeeded, the kernel's state is unknown.
    this.#tables = undefined;
    if (tables === undefined) {
      tables = await Promise.all(this.#config.families.map((family) => this.#open(family)));
      await nft.run(lines(tables.flatMap((table) => table.initialCommands())));
    } else {
      await this.#deleteStaleChains(tables);
      if (complete) {
        for (const table of tables) table.useSettings(this.#config.settings());
        await nft.run(lines(tables.flatMap((table) => table.initialCommands())));
      }
    }
    for (const part of partsOf(changes)) {
      const now = clock.monotonic();
      const commands = tables.flatMap((table) => table.change(part, now));
      if (commands.length > 0) await nft.run(lines(commands));
      if (changes.size > part.length) await nextTurn();
    }
    if (complete) {
      const commands = tables.flatMap((table) => table.removeLeftovers(clock.monotonic()));
      if (commands.length > 0) await nft.run(lines(commands));
    }
    this.#tables = tables;
    await flows?.update({ complete, changes });
  }

  async #open(family: IpFamily): Promise<FamilyTable> {
    const { nft, logger, settings } = this.#config;
    const { table } = settings();
    const words = wordsOf(family).family;
    const text = await nft.list(words, table);
    if (text === undefined) return new FamilyTable(family, settings(), undefined, false);
    try {
      if (text.length > MAX_LISTING_LENGTH)
        throw new UnusableTableError('the table is too large to be read');
      const listing: Listing = parseListing(text, family);
      logger.info('proxy: adopting nftables rules', {
        table,
        family,
        elements: listing.elements.size,
      });
      return new FamilyTable(family, settings(), listing, false);
    } catch (error) {
      if (!(error instanceof UnusableTableError)) throw error;
      logger.warn('proxy: replacing an nftables table that cannot be adopted', {
        table,
        family,
        err: error,
      });
      return new FamilyTable(family, settings(), undefined, true);
    }
  }

  async #deleteStaleChains(tables: readonly FamilyTable[]): Promise<void> {
    const commands = tables.flatMap((table) =>
      table.deleteStaleChains(this.#config.clock.monotonic()),
    );
    if (commands.length === 0) return;
    try {
      await this.#config.nft.run(lines(commands));
    } catch (error) {
      // An empty chain is harmless. A complete update finds it again.
      this.#config.logger.warn('proxy: deleting unused nftables chains failed', {
        message: errorMessage(error),
      });
    }
  }

  close(): Promise<void> {
    this.#closed = true;
    return Promise.resolve();
  }
}

/** Removes the table in both families, if it exists. */
export async function removeTable(nft: Nft, table: string): Promise<void> {
  await nft.run(
    removalOf({ family: 'ip', name: table }) + removalOf({ family: 'ip6', name: table }),
  );
}

const lines = (commands: readonly string[]): string => `${commands.join('\n')}\n`;

/**
 * Splits changes by their number of targets; a service is never split, so that its traffic always
 * has all of its rules.
 */
function* partsOf(
  changes: ReadonlyMap<string, ServiceRules | undefined>,
): Generator<readonly (readonly [string, ServiceRules | undefined])[]> {
  let part: (readonly [string, ServiceRules | undefined])[] = [];
  let targets = 0;
  for (const [key, rules] of changes) {
    part.push([key, rules]);
    for (const { cluster, local, externalIPs, loadBalancerIPs } of rules?.ports ?? []) {
      targets +=
        1 + (cluster.length + local.length) * (2 + externalIPs.length + loadBalancerIPs.length);
    }
    targets++;
    if (targets < TARGETS_PER_TRANSACTION) continue;
    yield part;
    part = [];
    targets = 0;
  }
  if (part.length > 0) yield part;
}
