// The proxy in nftables. A table in each family; one transaction for each bounded part of an
// update.

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
  /** Removes flows of UDP to endpoints that are gone. Undefined: they end by their timeout. */
  readonly flows: FlowCleaner | undefined;
  readonly clock: Clock;
  readonly logger: Logger;
  /** See RELISTED_ELEMENTS. For tests. */
  readonly relistedElements?: number;
}

/**
 * Targets in one transaction. The kernel takes all of it at once, or nothing; a larger one would
 * hold the tables' lock longer.
 */
const TARGETS_PER_TRANSACTION = 10_000;
/**
 * A table with more elements is listed at the start and after an error, but not for every complete
 * update: to read a listing takes the process tens of milliseconds for each 10,000 of them in one
 * go.
 */
const RELISTED_ELEMENTS = 20_000;
/** A larger listing takes longer to read than the table to be replaced. */
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
    // Until it has been done, what the kernel has is not known.
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
      // An empty chain does no harm. A complete update finds it again.
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

/** Removes the table in both families, if it is there. */
export async function removeTable(nft: Nft, table: string): Promise<void> {
  await nft.run(
    removalOf({ family: 'ip', name: table }) + removalOf({ family: 'ip6', name: table }),
  );
}

const lines = (commands: readonly string[]): string => `${commands.join('\n')}\n`;

/**
 * Splits changes by their number of targets; a service is never split, so that its traffic always
 * finds what it needs.
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
