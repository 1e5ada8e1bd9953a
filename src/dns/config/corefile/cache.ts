// The directive `cache`.

import type { Labels } from '../../wire/names.ts';
import type { CacheLimits, CacheSettings } from '../../configuration.ts';
import {
  argumentsOf,
  durationOf,
  onlyArgument,
  unknownProperty,
  wholeNumber,
  zonesOf,
} from './arguments.ts';
import type { Directive, Line } from './blocks.ts';
import { CorefileError } from './tokens.ts';

/** The defaults of CoreDNS. */
const SUCCESS: CacheLimits = { entries: 9984, maxTtl: 3600, minTtl: 5, except: [] };
const DENIAL: CacheLimits = { ...SUCCESS, maxTtl: 1800 };
const FAILURE_TTL = 5;
const MAX_FAILURE_TTL_MS = 300_000;
/** A cache of this size, of the longest answers that are cached, has 200 MB. */
const MAX_ENTRIES = 100_000;
const MAX_TTL = 604_800;
const PROPERTIES = 'denial, disable, servfail, success';

/** @param zones of the server block, for a directive that names none */
export function parseCache(directive: Directive, zones: readonly Labels[]): CacheSettings {
  const [first] = directive.args;
  const ttl =
    first !== undefined && /^\d+$/.test(first.text) ? wholeNumber(first, 1, MAX_TTL) : undefined;
  let success = { ...SUCCESS, ...(ttl !== undefined && { maxTtl: ttl }) };
  let denial = { ...DENIAL, ...(ttl !== undefined && { maxTtl: ttl }) };
  let failureTtl = FAILURE_TTL;
  for (const line of directive.lines) {
    switch (line.name.text) {
      case 'success':
        success = { ...success, ...parseLimits(line) };
        break;
      case 'denial':
        denial = { ...denial, ...parseLimits(line) };
        break;
      case 'disable': {
        const [kind, ...zonesOfKind] = argumentsOf(line, 1, Infinity, 'success or denial is');
        const except = zonesOf(zonesOfKind, [[]]);
        if (kind?.text === 'success') success = { ...success, except };
        else if (kind?.text === 'denial') denial = { ...denial, except };
        else throw new CorefileError(line.name, 'disable: success or denial is expected');
        break;
      }
      case 'servfail': {
        const duration = onlyArgument(line, 'a duration is');
        const milliseconds = durationOf(duration, 0);
        if (milliseconds > MAX_FAILURE_TTL_MS)
          throw new CorefileError(duration, 'servfail: at most 5m (RFC 2308)');
        failureTtl = Math.floor(milliseconds / 1000);
        break;
      }
      default:
        unknownProperty(directive, line, PROPERTIES);
    }
  }
  const named = ttl === undefined ? directive.args : directive.args.slice(1);
  return { zones: zonesOf(named, zones), success, denial, failureTtl };
}

/** CAPACITY [TTL] [MINTTL] */
function parseLimits(line: Line): Partial<CacheLimits> {
  const [entries, maxTtl, minTtl] = argumentsOf(line, 1, 3, 'CAPACITY [TTL] [MINTTL] is');
  return {
    ...(entries !== undefined && { entries: wholeNumber(entries, 1, MAX_ENTRIES) }),
    ...(maxTtl !== undefined && { maxTtl: wholeNumber(maxTtl, 1, MAX_TTL) }),
    ...(minTtl !== undefined && { minTtl: wholeNumber(minTtl, 0, MAX_TTL) }),
  };
}
