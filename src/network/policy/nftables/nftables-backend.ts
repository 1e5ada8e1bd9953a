// Programs the table of policies, with one transaction per change.

import type { Clock, Timer } from '#machinery/clock.ts';
import type { Logger } from '#machinery/log.ts';
import { type Nft, removalOf } from '#machinery/net/nft/index.ts';
import { nextTurn } from '#machinery/turn.ts';
import type { NodeRules, PolicyBackend, RulesChange } from '../model.ts';
import { PolicyTable } from './policy-table.ts';
import type { PolicyTableSettings } from './table.ts';

export interface NftablesBackendConfig {
  readonly nft: Nft;
  readonly settings: PolicyTableSettings;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** The time for work in one turn of the event loop, in milliseconds. */
const TURN_MS = 10;
const CLEAN_UP_MS = 2000;

export class NftablesBackend implements PolicyBackend {
  readonly #config: NftablesBackendConfig;
  readonly #table: PolicyTable;
  #cleanUp: Timer | undefined;
  /** The table was removed, or this process has never created it. */
  #isCleared = false;

  constructor(config: NftablesBackendConfig) {
    this.#config = config;
    this.#table = new PolicyTable(config.settings);
  }

  async sync(rules: NodeRules, change?: RulesChange): Promise<void> {
    const { nft, clock } = this.#config;
    // Without policies the kernel needs no table.
    if (!rules.guarded) return this.clear();
    const commands: string[] = [];
    try {
      let since = clock.monotonic();
      for (const part of this.#table.commands(rules, change, since)) {
        for (const command of part) commands.push(command);
        if (clock.monotonic() - since < TURN_MS) continue;
        await nextTurn();
        since = clock.monotonic();
      }
      if (commands.length === 0) return;
      this.#isCleared = false;
      await nft.run(`${commands.join('\n')}\n`);
    } catch (error) {
      this.#table.forget();
      throw error;
    }
    this.#scheduleCleanUp();
  }

  async clear(): Promise<void> {
    if (this.#isCleared) return;
    const { nft, settings } = this.#config;
    this.#table.forget();
    await nft.run(removalOf({ family: 'inet', name: settings.table }));
    this.#isCleared = true;
  }

  async isPresent(): Promise<boolean> {
    const { nft, settings } = this.#config;
    if (!this.#table.isProgrammed) return true;
    return (await nft.tables()).some(
      ({ family, name }) => family === 'inet' && name === settings.table,
    );
  }

  /** Cancels planned work. The table stays. */
  close(): void {
    this.#cleanUp?.cancel();
  }

  #scheduleCleanUp(): void {
    if (this.#cleanUp !== undefined || !this.#table.hasStaleChains) return;
    this.#cleanUp = this.#config.clock.setTimer(CLEAN_UP_MS, () => {
      this.#cleanUp = undefined;
      void this.#deleteStaleChains();
    });
  }

  /**
   * A chain that could not be deleted is harmless: nothing refers to it. The next complete table
   * does not contain it.
   */
  async #deleteStaleChains(): Promise<void> {
    const { nft, clock, logger } = this.#config;
    const commands = this.#table.deleteStaleChains(clock.monotonic());
    try {
      if (commands.length > 0) await nft.run(`${commands.join('\n')}\n`);
    } catch (error) {
      logger.debug('network policies: unused chains stay', { chains: commands.length, err: error });
    }
    this.#scheduleCleanUp();
  }
}

/** Removes the table of policies. Idempotent. */
export const removePolicyTable = (nft: Nft, table: string): Promise<void> =>
  nft.run(removalOf({ family: 'inet', name: table }));
