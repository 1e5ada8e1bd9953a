// Turns the bytes of a query into the bytes of its answer, for any transport. Answers from the
// cluster's own records are cached in encoded form, by question, until a record changes.

import type { Clock } from '#machinery/clock.ts';
import type { Logger } from '#machinery/log.ts';
import type { Random } from '#machinery/random.ts';
import { decode as decodePacket, type DecodedPacket } from 'dns-packet';
import type { DnsConfiguration, StubDomain } from '../config/dns-configuration.ts';
import type { Forwarded, Forwarder } from '../forward/forwarder.ts';
import type { Ask } from '../forward/upstream.ts';
import type { AnsweredBy, DnsMetrics, Protocol } from '../metrics.ts';
import { addressBytes, addressKey } from '../records/addresses.ts';
import type { ClusterZone, ZoneAnswer } from '../records/cluster-zone.ts';
import { parseReverse } from '../records/reverse.ts';
import {
  EMPTY_BODY,
  encodeBody,
  type EncodedBody,
  encodeError,
  encodeResponse,
  MAX_UDP_SIZE,
  OPT_LENGTH,
  type Response,
} from '../wire/encode.ts';
import {
  encodedLength,
  formatName,
  isBelow,
  parseName,
  readLabels,
  readLabelsAsWritten,
  type Labels,
} from '../wire/names.ts';
import { isRejection, parseQuery, type Query } from '../wire/query.ts';
import { addressRecord, nameRecord, type ResourceRecord } from '../wire/records.ts';
import {
  FLAG,
  HEADER_LENGTH,
  MAX_MESSAGE_LENGTH,
  MIN_UDP_SIZE,
  RCODE,
  TYPE,
} from '../wire/types.ts';

export interface AnswererConfig {
  readonly zone: ClusterZone;
  readonly domain: Labels;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly metrics: DnsMetrics;
  /**
   * Reports whether all records are in the index. Otherwise records may be missing, and a name
   * without records is answered with SERVFAIL.
   */
  readonly synced: () => boolean;
}

/** The destination of questions outside of the cluster's zones. */
export interface Routes {
  readonly configuration: DnsConfiguration;
  readonly forwarder: Forwarder;
  readonly stubs: readonly (StubDomain & { readonly forwarder: Forwarder })[];
}

/** A cached answer, without the parts that belong to a single query. */
interface Compiled {
  readonly response: Response;
  /** Address records of equal size at the beginning, which rotate between answers. */
  readonly rotating: { readonly size: number; readonly count: number } | undefined;
  readonly by: AnsweredBy;
}

/**
 * The maximum number of cached answers. When it is reached, the cache is emptied: a client cannot
 * fill memory with new names.
 */
const MAX_COMPILED = 8192;
/** Longer answers are not cached, so that the cache has at most 16 MB. */
const MAX_COMPILED_BYTES = 2048;
/** Upstream servers resolve aliases outside of the cluster; further records are left out. */
const MAX_OUTSIDE_RECORDS = 200;

export type Answered = Buffer | Promise<Buffer | undefined> | undefined;

export class Answerer {
  readonly #config: AnswererConfig;
  #routes: Routes;
  #compiled = new Map<string, Compiled>();

  constructor(config: AnswererConfig, routes: Routes) {
    this.#config = config;
    this.#routes = routes;
  }

  setRoutes(routes: Routes): void {
    this.#routes = routes;
    this.recordsChanged();
  }

  /** Empties the cache of encoded answers. */
  recordsChanged(): void {
    if (this.#compiled.size > 0) this.#compiled = new Map();
  }

  /**
   * Returns the answer, synchronously if no upstream server is needed; undefined if the message
   * gets none. Never throws or rejects.
   */
  handle(message: Buffer, proto: Protocol, v6: boolean): Answered {
    const start = this.#config.clock.monotonic();
    try {
      return this.#handle(message, proto, v6, start);
    } catch (error) {
      return this.#failed(error, message);
    }
  }

  #failed(err: unknown, message: Buffer): Buffer {
    const { logger, metrics } = this.#config;
    metrics.failed();
    logger.error('DNS query failed', { err });
    return encodeError(message, RCODE.SERVFAIL, undefined);
  }

  #handle(message: Buffer, proto: Protocol, v6: boolean, start: number): Answered {
    const { metrics } = this.#config;
    const parsed = parseQuery(message);
    if (isRejection(parsed)) {
      if (parsed.rcode === undefined) {
        metrics.dropped('malformed');
        return undefined;
      }
      metrics.request(proto, v6, parsed.query?.type ?? 0, message.length);
      return this.#sent(
        encodeError(message, parsed.rcode, parsed.query),
        parsed.rcode,
        '',
        proto,
        start,
      );
    }
    metrics.request(proto, v6, parsed.type, message.length);
    const limit = limitOf(parsed, proto);
    const key =
      message.toString('latin1', HEADER_LENGTH, parsed.questionEnd) + String.fromCharCode(limit);
    const compiled = this.#compiled.get(key) ?? this.#compile(parsed, limit, key);
    if (compiled !== undefined) return this.#send(compiled, parsed, proto, start);
    return this.#forward(parsed, readLabels(message, HEADER_LENGTH), limit, proto, start);
  }

  #send(
    { response, rotating, by }: Compiled,
    query: Query,
    proto: Protocol,
    start: number,
  ): Buffer {
    const rotation =
      rotating === undefined
        ? undefined
        : { ...rotating, first: this.#config.random.int(rotating.count) };
    const bytes = encodeResponse(
      query,
      rotation === undefined ? response : { ...response, rotation },
    );
    return this.#sent(bytes, response.rcode, by, proto, start);
  }

  #sent(bytes: Buffer, rcode: number, by: AnsweredBy, proto: Protocol, start: number): Buffer {
    const { clock, metrics } = this.#config;
    metrics.response(proto, rcode, by, bytes.length, (clock.monotonic() - start) / 1000);
    return bytes;
  }

  /** Encodes the answer. Returns undefined for a question that upstream servers have to answer. */
  #compile(query: Query, limit: number, key: string): Compiled | undefined {
    const labels = readLabels(query.message, HEADER_LENGTH);
    const { synced } = this.#config;
    let by: AnsweredBy = 'kubernetes';
    let answer = this.#fromCluster(labels, query.type, limit);
    if (answer === undefined) {
      answer = this.#fromHosts(labels, query.type) ?? this.#refusedHere(labels, query.type);
      by = 'hosts';
    }
    if (answer === undefined || answer.outside !== undefined) return undefined;
    if (answer.rcode === RCODE.NXDOMAIN && !synced()) answer = { ...answer, rcode: RCODE.SERVFAIL };
    const compiled = compile(answer, query, limit, by);
    if (synced() && compiled.response.body.bytes.length <= MAX_COMPILED_BYTES) {
      if (this.#compiled.size >= MAX_COMPILED) this.#compiled = new Map();
      this.#compiled.set(key, compiled);
    }
    return compiled;
  }

  #fromCluster(labels: Labels, type: number, limit: number): ZoneAnswer | undefined {
    const { zone, domain } = this.#config;
    if (isBelow(labels, domain))
      return zone.answer(labels, type, Math.ceil(limit / SHORTEST_RECORD));
    const reverse = parseReverse(labels);
    if (reverse === undefined) return undefined;
    if (reverse.apex) return zone.reverseApex(reverse.zone, type);
    return reverse.address === undefined
      ? undefined
      : zone.reverse(reverse.address, reverse.zone, type);
  }

  #fromHosts(labels: Labels, type: number): ZoneAnswer | undefined {
    const { hosts } = this.#routes.configuration;
    const addresses = hosts.addresses.get(formatName(labels));
    if (addresses !== undefined) {
      const length = type === TYPE.A ? 4 : type === TYPE.AAAA ? 16 : 0;
      const matching = addresses.filter((address) => address.length === length);
      return local(matching.map((address) => addressRecord(undefined, address, HOSTS_TTL)));
    }
    if (type !== TYPE.PTR || hosts.names.size === 0) return undefined;
    const address = parseReverse(labels)?.address;
    const names = address === undefined ? undefined : hosts.names.get(addressKey(address));
    return names === undefined
      ? undefined
      : local(names.map((name) => nameRecord(TYPE.PTR, undefined, name, HOSTS_TTL)));
  }

  /** Returns the rejection of zone transfers and of questions about names with a single label. */
  #refusedHere(labels: Labels, type: number): ZoneAnswer | undefined {
    const { forwarder, stubs } = this.#routes;
    if (type === TYPE.AXFR || type === TYPE.IXFR) return { ...local([]), rcode: RCODE.REFUSED };
    // RFC 8482: the answer to ANY is minimal.
    if (type === TYPE.ANY)
      return local([
        { owner: undefined, type: TYPE.HINFO, ttl: ANY_TTL, data: { texts: ['RFC8482', ''] } },
      ]);
    if (type !== TYPE.HINFO) return undefined;
    const comesBack = [forwarder, ...stubs.map((stub) => stub.forwarder)].some((each) =>
      each.noticeLoop(labels, type),
    );
    return comesBack ? { ...local([]), rcode: RCODE.SERVFAIL } : undefined;
  }

  async #forward(
    query: Query,
    labels: Labels,
    limit: number,
    proto: Protocol,
    start: number,
  ): Promise<Buffer | undefined> {
    try {
      const { bytes, rcode, by } = await this.#resolve(query, labels, limit, proto);
      return this.#sent(bytes, rcode, by, proto, start);
    } catch (error) {
      return this.#failed(error, query.message);
    }
  }

  async #resolve(
    query: Query,
    labels: Labels,
    limit: number,
    proto: Protocol,
  ): Promise<{ readonly bytes: Buffer; readonly rcode: number; readonly by: AnsweredBy }> {
    const { domain, zone } = this.#config;
    if (isBelow(labels, domain)) {
      const answer = zone.answer(labels, query.type);
      const answers = [...answer.answers, ...(await this.#outside(answer.outside ?? [], query))];
      const compiled = compile({ ...answer, answers }, query, limit, 'kubernetes');
      return {
        bytes: encodeResponse(query, compiled.response),
        rcode: compiled.response.rcode,
        by: 'kubernetes',
      };
    }
    const question = query.message.subarray(HEADER_LENGTH, query.questionEnd);
    const forwarded = await this.#ask(labels, askOf(question, query, proto === 'tcp'));
    const { rcode, flags, bytes, counts, cached } = forwarded;
    const fits = bytes.length <= limit;
    const body: EncodedBody = fits
      ? { bytes, counts, truncated: false }
      : { ...EMPTY_BODY, truncated: true };
    return {
      bytes: encodeResponse(query, { rcode, flags, body }),
      rcode,
      by: cached ? 'cache' : 'forward',
    };
  }

  #ask(labels: Labels, ask: Ask): Promise<Forwarded> {
    const { forwarder, stubs } = this.#routes;
    const route = stubs.find(({ domain }) => isBelow(labels, domain))?.forwarder ?? forwarder;
    const kept = route.cached(ask);
    return kept === undefined ? route.resolve(ask) : Promise.resolve(kept);
  }

  /**
   * Returns the records of a name outside of the cluster that an ExternalName service leads to.
   * None if it cannot be resolved.
   */
  async #outside(name: Labels, query: Query): Promise<readonly ResourceRecord[]> {
    const known = this.#fromHosts(name, query.type);
    if (known !== undefined)
      return known.answers.map((record) => ({ ...record, owner: record.owner ?? name }));
    const question = questionOf(name, query.type);
    const { rcode, bytes, counts } = await this.#ask(name, askOf(question, query, true));
    if (rcode !== RCODE.NOERROR || counts[0] === 0) return [];
    const header = Buffer.alloc(HEADER_LENGTH);
    for (const [i, count] of [1, ...counts].entries()) header.writeUInt16BE(count, 4 + 2 * i);
    try {
      return recordsIn(decodePacket(Buffer.concat([header, question, bytes])));
    } catch (error) {
      // The response of the upstream server cannot be decoded. The alias alone is a valid answer.
      this.#config.logger.debug('answer of upstream DNS server cannot be decoded', { err: error });
      return [];
    }
  }
}

/** The size of an address record whose name is a pointer. */
const SHORTEST_RECORD = 16;
const HOSTS_TTL = 5;
const ANY_TTL = 8482;

function local(answers: readonly ResourceRecord[]): ZoneAnswer {
  return { rcode: RCODE.NOERROR, answers, authorities: [], additionals: [], truncated: false };
}

function askOf(question: Buffer, query: Query, complete: boolean): Ask {
  return {
    question,
    dnssecOk: query.edns?.dnssecOk === true,
    checkingDisabled: (query.flags & FLAG.CD) !== 0,
    complete,
  };
}

function questionOf(name: Labels, type: number): Buffer {
  const question = Buffer.alloc(encodedLength(name) + 4);
  let at = 0;
  for (const label of name) {
    question[at++] = label.length;
    at += question.write(label, at, 'latin1');
  }
  question.writeUInt16BE(type, at + 1);
  question.writeUInt16BE(1, at + 3);
  return question;
}

/** Returns the maximum size of the records in bytes. */
function limitOf({ edns, questionEnd }: Query, proto: Protocol): number {
  const size =
    proto === 'tcp'
      ? MAX_MESSAGE_LENGTH
      : Math.max(MIN_UDP_SIZE, Math.min(edns?.udpSize ?? 0, MAX_UDP_SIZE));
  return size - questionEnd - (edns === undefined ? 0 : OPT_LENGTH);
}

function compile(answer: ZoneAnswer, query: Query, limit: number, by: AnsweredBy): Compiled {
  const labels = readLabelsAsWritten(query.message, HEADER_LENGTH);
  const body = encodeBody(answer, labels, query.questionEnd, limit);
  const response = {
    rcode: answer.rcode,
    flags: answer.rcode === RCODE.REFUSED ? 0 : FLAG.AA,
    body: answer.truncated ? { ...body, truncated: true } : body,
  };
  return { response, rotating: rotatingIn(answer, body), by };
}

/**
 * Returns the address records that rotate. Only those under the name of the question do: an alias
 * has to stay before its target.
 */
function rotatingIn({ answers }: ZoneAnswer, body: EncodedBody): Compiled['rotating'] {
  const count = body.counts[0];
  const first = answers[0];
  if (count < 2 || first === undefined || !('address' in first.data) || first.owner !== undefined)
    return undefined;
  // The sizes of a pointer to the question, type, class, TTL and length.
  return { size: 12 + first.data.address.length, count };
}

/** Returns the records of an upstream answer to an alias: addresses and further aliases. */
function recordsIn(packet: DecodedPacket): readonly ResourceRecord[] {
  const records: ResourceRecord[] = [];
  for (const answer of (packet.answers ?? []).slice(0, MAX_OUTSIDE_RECORDS)) {
    const owner = parseName(answer.name);
    if (owner === undefined || !('ttl' in answer)) continue;
    const ttl = answer.ttl ?? 0;
    if (answer.type === 'A' || answer.type === 'AAAA') {
      const address = addressBytes(answer.data);
      if (address !== undefined) records.push(addressRecord(owner, address, ttl));
    } else if (answer.type === 'CNAME') {
      const target = parseName(answer.data);
      if (target !== undefined) records.push(nameRecord(TYPE.CNAME, owner, target, ttl));
    } else if (answer.type === 'TXT') {
      const parts = Array.isArray(answer.data) ? answer.data : [answer.data];
      records.push({
        owner,
        type: TYPE.TXT,
        ttl,
        data: { texts: parts.map((part) => part.toString('latin1')) },
      });
    }
  }
  return records;
}
