// The directive `hosts`.

import type { Labels } from '../../wire/names.ts';
import type { HostsSource } from '../../configuration.ts';
import { HostsTable } from '../hosts.ts';
import { durationOf, noArguments, onlyArgument, wholeNumber, zonesOf } from './arguments.ts';
import type { Directive, Line } from './blocks.ts';
import { CorefileError } from './tokens.ts';

export interface HostsDirective {
  readonly file: string;
  /** The time between two looks at the file; 0: it is read once. */
  readonly reloadMs: number;
  /** @param text of the file; undefined: there is none */
  source(text: string | undefined): HostsSource;
}

const DEFAULT_FILE = '/etc/hosts';
const DEFAULT_TTL = 3600;
const DEFAULT_RELOAD_MS = 5000;

/** @param zones of the server block, for a directive that names none */
export function parseHostsDirective(
  directive: Directive,
  zones: readonly Labels[],
  onProblem: (file: string, line: number, problem: string) => void,
): HostsDirective {
  const [named, ...args] = directive.args;
  const file = named?.text ?? DEFAULT_FILE;
  const inline: Line[] = [];
  let ttl = DEFAULT_TTL;
  let reloadMs = DEFAULT_RELOAD_MS;
  let reverse = true;
  let fallthrough: readonly Labels[] | undefined;
  for (const line of directive.lines) {
    switch (line.name.text) {
      case 'ttl':
        ttl = wholeNumber(onlyArgument(line, 'a number of seconds is'), 1, 65_535);
        break;
      case 'reload':
        reloadMs = durationOf(onlyArgument(line, 'a duration is'), 0);
        break;
      case 'no_reverse':
        noArguments(line);
        reverse = false;
        break;
      case 'fallthrough':
        fallthrough = zonesOf(line.args, [[]]);
        break;
      default:
        inline.push(line);
    }
  }
  addInline(new HostsTable(), inline);
  return {
    file,
    reloadMs,
    source: (text) => {
      const hosts = new HostsTable();
      hosts.addFile(text ?? '', (line, problem) => onProblem(file, line, problem));
      addInline(hosts, inline);
      if (!reverse) hosts.names.clear();
      return {
        kind: 'hosts',
        hosts,
        zones: zonesOf(args, zones),
        ttl,
        fallthrough: fallthrough ?? [],
      };
    },
  };
}

function addInline(hosts: HostsTable, lines: readonly Line[]): void {
  for (const { name, args } of lines) {
    try {
      const names = args.map(({ text }) => text);
      hosts.add(name.text, names);
    } catch (error) {
      if (!(error instanceof TypeError)) throw error;
      throw new CorefileError(name, `hosts: ${error.message}`);
    }
  }
}
