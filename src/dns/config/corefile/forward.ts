// The directive `forward`.

import type { Labels } from '../../wire/names.ts';
import { FORWARD_DEFAULTS, type ForwardPolicy, type ForwardSource } from '../../configuration.ts';
import { serversIn } from '../../forward/resolv-conf.ts';
import type { DnsFiles, SocketAddress } from '../../system/sockets.ts';
import {
  argumentsOf,
  durationOf,
  noArguments,
  onlyArgument,
  serverOf,
  unknownProperty,
  wholeNumber,
} from './arguments.ts';
import type { Directive } from './blocks.ts';
import { CorefileError, type Token } from './tokens.ts';
import { parseZone } from './zones.ts';

type Settings = Omit<ForwardSource, 'cache' | 'logsFailures'>;

const MAX_SERVERS = 15;
const MAX_CONCURRENT = 100_000;
const MIN_PROBE_INTERVAL_MS = 100;
const NODE_RESOLV_CONF = '/etc/resolv.conf';
const POLICIES: readonly ForwardPolicy[] = ['random', 'round_robin', 'sequential'];
const PROPERTIES = 'except, force_tcp, health_check, max_concurrent, max_fails, policy, prefer_udp';

/** Parses the directive. Files that it names are read once. */
export async function parseForward(directive: Directive, files: DnsFiles): Promise<Settings> {
  const [from, ...to] = argumentsOf(directive, 2, Infinity, 'FROM TO... is');
  return {
    ...FORWARD_DEFAULTS,
    kind: 'forward',
    from: parseZone(from as Token),
    servers: await serversOf(to, files),
    ...parseProperties(directive),
  };
}

function parseProperties(directive: Directive): Partial<Settings> {
  let settings: Partial<Settings> = {};
  const except: Labels[] = [];
  for (const line of directive.lines) {
    switch (line.name.text) {
      case 'except':
        except.push(...argumentsOf(line, 1, Infinity, 'zones are').map(parseZone));
        break;
      case 'force_tcp':
        noArguments(line);
        settings = { ...settings, tcp: true };
        break;
      // Questions go over UDP first in any case.
      case 'prefer_udp':
        noArguments(line);
        break;
      case 'max_concurrent': {
        const most = wholeNumber(onlyArgument(line, 'a number is'), 0, MAX_CONCURRENT);
        // 0: as if it were not there.
        if (most > 0) settings = { ...settings, maxConcurrent: most };
        break;
      }
      case 'max_fails':
        settings = {
          ...settings,
          maxFailures: wholeNumber(onlyArgument(line, 'a number is'), 0, 1_000_000),
        };
        break;
      case 'health_check':
        settings = {
          ...settings,
          probeIntervalMs: durationOf(onlyArgument(line, 'one duration is'), MIN_PROBE_INTERVAL_MS),
        };
        break;
      case 'policy':
        settings = {
          ...settings,
          policy: policyOf(onlyArgument(line, POLICIES.join(', ') + ' is')),
        };
        break;
      default:
        unknownProperty(directive, line, PROPERTIES);
    }
  }
  return { ...settings, except };
}

function policyOf(token: Token): ForwardPolicy {
  const policy = POLICIES.find((each) => each === token.text);
  if (policy === undefined)
    throw new CorefileError(token, `policy: one of ${POLICIES.join(', ')} is expected`);
  return policy;
}

/** The node's resolv.conf alone may change: other files are those of the Corefile's author. */
async function serversOf(
  tokens: readonly Token[],
  files: DnsFiles,
): Promise<ForwardSource['servers']> {
  if (tokens.length === 1 && tokens[0]?.text === NODE_RESOLV_CONF) return 'node';
  const servers: SocketAddress[] = [];
  for (const token of tokens) {
    const server = serverOf(token);
    if (server !== undefined) {
      servers.push(server);
      continue;
    }
    const text = await files.read(token.text);
    if (text === undefined)
      throw new CorefileError(token, `forward: ${token.text} is no address and no file`);
    const named = serversIn(text);
    if (named.length === 0)
      throw new CorefileError(token, `forward: ${token.text} has no nameserver`);
    servers.push(...named);
  }
  const [, ...others] = tokens;
  if (servers.length > MAX_SERVERS)
    throw new CorefileError(
      others.at(-1) as Token,
      `forward: more than ${MAX_SERVERS} name servers`,
    );
  return servers;
}
