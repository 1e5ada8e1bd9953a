// Turns the bytes of a query into the bytes of its answer, for any transport. Answers from the
// cluster's own records are cached in encoded form, by question, until a record changes.

import type { Clock } from '#machinery/clock.ts';
import type { Logger } from '#machinery/log.ts';
import type { Random } from '#machinery/random.ts';
import { decode as decodePacket, type DecodedPacket } from 'dns-packet';
import type { Forwarded, Forwarder } from '../forward/forwarder.ts';
import type { Ask } from '../forward/upstream.ts';
import type { AnsweredBy, DnsMetrics, Protocol } from '../metrics.ts';
import { addressBytes } from '../records/addresses.ts';
import type { ZoneAnswer } from '../records/cluster-zone.ts';
import type { SocketAddress } from '../system/sockets.ts';
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
import { queryLine } from './query-log.ts';
import { blockOf, decide, type Decision, type Routes } from './routes.ts';

export interface AnswererConfig {
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly metrics: DnsMetrics;
  /**
   * Reports whether all records are in the index. Otherwise records may be missing, and a name
   * without records is answered with SERVFAIL.
   */
  readonly synced: () => boolean;
  /** Called with the line of each query whose block logs queries. */
  readonly onQueryLine: (line: string) => void;
}

/** How a message came here. */
export interface Source {
  readonly proto: Protocol;
  readonly v6: boolean;
  /** undefined: it comes from this process. */
  readonly client: SocketAddress | undefined;
}

/** A query that is being answered. */
interface Received {
  readonly source: Source;
  readonly query: Query | undefined;
  /** The time of its arrival, in monotonic milliseconds. */
  readonly start: number;
  readonly logged: boolean;
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
  /** Whether the queries of any block are logged. */
  #logsSome: boolean;
  #compiled = new Map<string, Compiled>();

  constructor(config: AnswererConfig, routes: Routes) {
    this.#config = config;
    this.#routes = routes;
    this.#logsSome = logsSome(routes);
  }

  setRoutes(routes: Routes): void {
    this.#routes = routes;
    this.#logsSome = logsSome(routes);
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
  handle(message: Buffer, source: Source): Answered {
    try {
      return this.#handle(message, source);
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

  #handle(message: Buffer, source: Source): Answered {
    const { metrics, clock } = this.#config;
    const { proto, v6 } = source;
    const start = clock.monotonic();
    const parsed = parseQuery(message);
    if (isRejection(parsed)) {
      if (parsed.rcode === undefined) {
        metrics.dropped('malformed');
        return undefined;
      }
      const { query, rcode } = parsed;
      metrics.request(proto, v6, query?.type ?? 0, message.length);
      const received = { source, query, start, logged: false };
      return this.#sent(encodeError(message, rcode, query), rcode, '', received);
    }
    metrics.request(proto, v6, parsed.type, message.length);
    const limit = limitOf(parsed, proto);
    const logged = this.#logsSome && this.#isLogged(message);
    const received: Received = { source, query: parsed, start, logged };
    const key =
      message.toString('latin1', HEADER_LENGTH, parsed.questionEnd) + String.fromCharCode(limit);
    const compiled = this.#compiled.get(key);
    if (compiled !== undefined) return this.#send(compiled, parsed, received);
    const labels = readLabels(message, HEADER_LENGTH);
    const decision = this.#decide(labels, parsed.type, limit);
    return 'forwarder' in decision || decision.answer.outside !== undefined
      ? this.#forward(decision, parsed, labels, limit, received)
      : this.#send(this.#compile(decision, parsed, labels, limit, key), parsed, received);
  }

  #isLogged(message: Buffer): boolean {
    return blockOf(this.#routes, readLabels(message, HEADER_LENGTH))?.logsQueries === true;
  }

  #decide(labels: Labels, type: number, limit: number): Decision {
    const decision = decide(this.#routes, labels, type, Math.ceil(limit / SHORTEST_RECORD));
    if (
      'forwarder' in decision ||
      decision.answer.rcode !== RCODE.NXDOMAIN ||
      this.#config.synced()
    )
      return decision;
    return { ...decision, answer: { ...decision.answer, rcode: RCODE.SERVFAIL } };
  }

  #send({ response, rotating, by }: Compiled, query: Query, received: Received): Buffer {
    const rotation =
      rotating === undefined
        ? undefined
        : { ...rotating, first: this.#config.random.int(rotating.count) };
    const bytes = encodeResponse(
      query,
      rotation === undefined ? response : { ...response, rotation },
    );
    return this.#sent(bytes, response.rcode, by, received);
  }

  #sent(bytes: Buffer, rcode: number, by: AnsweredBy, received: Received): Buffer {
    const { clock, metrics, onQueryLine } = this.#config;
    const { source, query, start, logged } = received;
    const { proto, client } = source;
    const seconds = (clock.monotonic() - start) / 1000;
    metrics.response(proto, rcode, by, bytes.length, seconds);
    if (logged && query !== undefined)
      onQueryLine(queryLine({ client, proto, query, answer: bytes, rcode, seconds }));
    return bytes;
  }

  /** Encodes an answer, and caches it until a record changes. */
  #compile(
    { answer, by }: Exclude<Decision, { forwarder: Forwarder }>,
    query: Query,
    labels: Labels,
    limit: number,
    key: string,
  ): Compiled {
    const rotates = blockOf(this.#routes, labels)?.rotates === true;
    const compiled = compile(answer, query, limit, by, rotates);
    if (this.#config.synced() && compiled.response.body.bytes.length <= MAX_COMPILED_BYTES) {
      if (this.#compiled.size >= MAX_COMPILED) this.#compiled = new Map();
      this.#compiled.set(key, compiled);
    }
    return compiled;
  }

  async #forward(
    decision: Decision,
    query: Query,
    labels: Labels,
    limit: number,
    received: Received,
  ): Promise<Buffer | undefined> {
    try {
      const { bytes, rcode, by } =
        'forwarder' in decision
          ? await this.#passOn(decision.forwarder, query, limit, received.source.proto)
          : await this.#withOutside(decision, query, labels, limit);
      return this.#sent(bytes, rcode, by, received);
    } catch (error) {
      return this.#failed(error, query.message);
    }
  }

  async #withOutside(
    { answer, by }: Exclude<Decision, { forwarder: Forwarder }>,
    query: Query,
    labels: Labels,
    limit: number,
  ): Promise<Resolved> {
    const answers = [...answer.answers, ...(await this.#outside(answer.outside ?? [], query))];
    const rotates = blockOf(this.#routes, labels)?.rotates === true;
    const { response } = compile({ ...answer, answers }, query, limit, by, rotates);
    return { bytes: encodeResponse(query, response), rcode: response.rcode, by };
  }

  async #passOn(
    forwarder: Forwarder,
    query: Query,
    limit: number,
    proto: Protocol,
  ): Promise<Resolved> {
    const question = query.message.subarray(HEADER_LENGTH, query.questionEnd);
    const forwarded = await ask(forwarder, askOf(question, query, proto === 'tcp'));
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

  /**
   * Returns the records of a name outside of the cluster that an ExternalName service leads to.
   * None if it cannot be resolved.
   */
  async #outside(name: Labels, query: Query): Promise<readonly ResourceRecord[]> {
    const decision = decide(this.#routes, name, query.type, MAX_OUTSIDE_RECORDS);
    if (!('forwarder' in decision))
      return decision.answer.answers.map((record) => ({ ...record, owner: record.owner ?? name }));
    const question = questionOf(name, query.type);
    const { rcode, bytes, counts } = await ask(decision.forwarder, askOf(question, query, true));
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

const logsSome = ({ blocks }: Routes): boolean => blocks.some(({ logsQueries }) => logsQueries);

interface Resolved {
  readonly bytes: Buffer;
  readonly rcode: number;
  readonly by: AnsweredBy;
}

async function ask(forwarder: Forwarder, question: Ask): Promise<Forwarded> {
  return forwarder.cached(question) ?? (await forwarder.resolve(question));
}

/** The size of an address record whose name is a pointer. */
const SHORTEST_RECORD = 16;

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

function compile(
  answer: ZoneAnswer,
  query: Query,
  limit: number,
  by: AnsweredBy,
  rotates: boolean,
): Compiled {
  const labels = readLabelsAsWritten(query.message, HEADER_LENGTH);
  const body = encodeBody(answer, labels, query.questionEnd, limit);
  const response = {
    rcode: answer.rcode,
    // Errors that no source has given have no authority.
    flags: answer.rcode === RCODE.REFUSED || by === '' ? 0 : FLAG.AA,
    body: answer.truncated ? { ...body, truncated: true } : body,
  };
  return { response, rotating: rotates ? rotatingIn(answer, body) : undefined, by };
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
