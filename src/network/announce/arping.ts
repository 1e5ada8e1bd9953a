// ARP from user space, through the program arping: checks whether an address is in use, and
// announces an address.

import { execute, type Executed } from '#machinery/execute.ts';
import type { Logger } from '#machinery/log.ts';

export interface ArpingConfig {
  /** A program and arguments that run other programs, such as `ip netns exec NAME`. */
  readonly prefix: readonly string[];
  readonly logger: Logger;
}

/** Programs that support -U, -f, -c, -w and -I, with the output by which they are recognized. */
const PROGRAMS: readonly {
  readonly command: readonly string[];
  readonly probe: string;
  readonly pattern: RegExp;
}[] = [
  { command: ['busybox', 'arping'], probe: '--help', pattern: /Unsolicited ARP/ },
  { command: ['arping'], probe: '-V', pattern: /iputils/ },
];

export class Arping {
  readonly #config: ArpingConfig;
  #program: Promise<readonly string[] | undefined> | undefined;

  constructor(config: ArpingConfig) {
    this.#config = config;
  }

  /**
   * Reports whether a machine on the link answers for the address. False if that cannot be
   * determined.
   */
  async isAnswered(address: string, link: string): Promise<boolean> {
    const result = await this.#run(['-f', '-q', '-c', '1', '-w', '1', '-I', link, address]);
    return result?.code === 0;
  }

  /** Announces to all machines of the link that this one has the address. */
  async announce(address: string, link: string): Promise<void> {
    const result = await this.#run(['-U', '-q', '-c', '1', '-w', '1', '-I', link, address]);
    // Unsolicited requests get no replies, which some versions report as a failure.
    if (result !== undefined && result.code > 1) {
      this.#config.logger.warn('announcer: gratuitous ARP failed', {
        address,
        link,
        stderr: result.stderr.trim(),
      });
    }
  }

  async #run(args: readonly string[]): Promise<Executed | undefined> {
    const program = await (this.#program ??= this.#find());
    return program === undefined
      ? undefined
      : execute([...this.#config.prefix, ...program, ...args], '');
  }

  async #find(): Promise<readonly string[] | undefined> {
    const { prefix, logger } = this.#config;
    for (const { command, probe, pattern } of PROGRAMS) {
      try {
        const { stdout, stderr } = await execute([...prefix, ...command, probe], '');
        if (pattern.test(stdout + stderr)) return command;
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
      }
    }
    logger.warn(
      'announcer: neither busybox nor iputils has arping: other machines notice a moved address only when',
      {
        reason:
          'their ARP entries expire, and addresses of IPv4 that something else has are not detected',
      },
    );
    return undefined;
  }
}
