// A SPDY/3.1 connection on any Duplex, as client or server: opens and accepts streams, answers
// pings, closes with GOAWAY.
//
// Flow control is TCP's, as in the implementation that Kubernetes uses (moby/spdystream):
// WINDOW_UPDATE is neither sent nor obeyed. A stream with a slow reader blocks the reading of the
// whole connection once its buffer is full.

import type { Duplex } from 'node:stream';
import type { Clock, Timer } from '#machinery/clock.ts';
import {
  type ControlFrame,
  type Frame,
  FrameDecoder,
  FrameEncoder,
  goAwayStatus,
  rstStatus,
  SpdyProtocolError,
} from './frames.ts';
import type { Headers } from './header-compression.ts';
import { SpdyStream, SpdyStreamResetError, type StreamTransport } from './stream.ts';

/** The time that the other side has to close after this side did. */
const LINGER_MS = 5_000;
/**
 * Unsent replies (to pings and new streams) in bytes. A peer that causes more does not read, and
 * the connection fails. Otherwise its memory would grow without bound.
 */
const MAX_UNSENT_REPLY_BYTES = 256 * 1024;

export interface SpdyConnectionConfig {
  /** The stream beneath. The connection owns it from now on. */
  readonly socket: Duplex;
  /** Bytes that were read from the socket before. */
  readonly head?: Buffer;
  readonly side: 'client' | 'server';
  readonly clock: Clock;
  /**
   * Called for a stream that the other side has opened; it is accepted already. Default: such
   * streams are rejected.
   */
  readonly onStream?: (stream: SpdyStream) => void;
  /** The idle time after which the connection is closed. Default: never. */
  readonly idleTimeoutMs?: number;
  /** The maximum number of streams at a time; more are rejected. Default: 1000. */
  readonly maxStreams?: number;
}

export class SpdyConnection {
  readonly #socket: Duplex;
  readonly #clock: Clock;
  readonly #onStream: ((stream: SpdyStream) => void) | undefined;
  readonly #maxStreams: number;
  readonly #encoder = new FrameEncoder();
  readonly #decoder = new FrameDecoder();
  readonly #parity: 0 | 1;
  /** Streams that are open in at least one direction, by ID. */
  readonly #streams = new Map<number, SpdyStream>();
  /** Streams opened by this side without a reply yet, by ID. */
  readonly #opening = new Map<
    number,
    { resolve: (stream: SpdyStream) => void; reject: (err: Error) => void }
  >();
  /** Streams with a full buffer. The socket is not read while there are any. */
  readonly #full = new Set<SpdyStream>();
  readonly #pings = new Map<number, () => void>();
  readonly #transport: StreamTransport;
  readonly #closed: Promise<void>;
  #resolveClosed: () => void = () => undefined;
  #nextStreamId: number;
  #nextPingId: number;
  #lastAccepted = 0;
  /** No more streams may be opened, by either side. */
  #goneAway = false;
  #over = false;
  #error: Error | undefined;
  #unsentReplyBytes = 0;
  #lastActivity: number;
  #idleTimer: Timer | undefined;

  constructor(config: SpdyConnectionConfig) {
    const { socket, head, side, clock, onStream, idleTimeoutMs, maxStreams } = config;
    this.#socket = socket;
    this.#clock = clock;
    this.#onStream = onStream;
    this.#maxStreams = maxStreams ?? 1000;
    this.#parity = side === 'client' ? 1 : 0;
    this.#nextStreamId = side === 'client' ? 1 : 2;
    this.#nextPingId = side === 'client' ? 1 : 2;
    this.#lastActivity = clock.monotonic();
    this.#closed = new Promise((resolve) => (this.#resolveClosed = resolve));
    this.#transport = {
      sendData: (streamId, data, fin, done) => this.#sendData(streamId, data, fin, done),
      sendReset: (streamId) =>
        this.#send({ type: 'rstStream', streamId, status: rstStatus.cancel }),
      resumeReading: (stream) => this.#resume(stream),
      forget: (stream) => this.#forget(stream),
    };
    socket.on('data', (chunk: Buffer) => this.#receive(chunk));
    socket.on('end', () => this.#end());
    socket.on('error', (err: Error) => this.#end(err));
    socket.on('close', () => this.#end());
    if (head && head.length > 0) this.#receive(head);
    if (idleTimeoutMs) this.#watchIdle(idleTimeoutMs);
  }

  /** Resolves when the connection is over, for whatever reason. */
  get closed(): Promise<void> {
    return this.#closed;
  }

  /** The error that ended the connection; undefined after a normal end. */
  get error(): Error | undefined {
    return this.#error;
  }

  /**
   * Opens a stream. Resolves once the other side has accepted it. Rejects if the other side rejects
   * it or the connection ends before.
   */
  createStream(headers: Headers): Promise<SpdyStream> {
    if (this.#over || this.#goneAway)
      return Promise.reject(this.#error ?? new Error('the SPDY connection is closed'));
    const streamId = this.#nextStreamId;
    this.#nextStreamId += 2;
    const stream = new SpdyStream(streamId, headers, this.#transport);
    this.#streams.set(streamId, stream);
    return new Promise((resolve, reject) => {
      this.#opening.set(streamId, { resolve, reject });
      this.#send({ type: 'synStream', streamId, headers, fin: false });
    });
  }

  /** Sends a ping. Resolves when the other side has answered, or when the connection ends. */
  ping(): Promise<void> {
    if (this.#over) return Promise.resolve();
    const id = this.#nextPingId;
    this.#nextPingId += 2;
    return new Promise((resolve) => {
      this.#pings.set(id, resolve);
      this.#send({ type: 'ping', id });
    });
  }

  /**
   * Resets the open streams, sends GOAWAY and ends the socket once everything is written.
   * Idempotent.
   */
  close(): void {
    if (this.#over) return;
    for (const stream of this.#streams.values())
      this.#send({ type: 'rstStream', streamId: stream.id, status: rstStatus.cancel });
    this.#goAway(goAwayStatus.ok);
    this.#end();
  }

  #goAway(status: number): void {
    if (this.#goneAway) return;
    this.#goneAway = true;
    this.#send({ type: 'goAway', lastGoodStreamId: this.#lastAccepted, status });
  }

  #receive(chunk: Buffer): void {
    this.#lastActivity = this.#clock.monotonic();
    try {
      for (const frame of this.#decoder.decode(chunk)) {
        if (this.#over) return;
        this.#handle(frame);
      }
    } catch (error) {
      if (!(error instanceof SpdyProtocolError)) throw error;
      this.#goAway(goAwayStatus.protocolError);
      this.#end(error);
    }
  }

  #handle(frame: Frame): void {
    switch (frame.type) {
      case 'data':
        return this.#handleData(frame.streamId, frame.data, frame.fin);
      case 'synStream':
        return this.#accept(frame.streamId, frame.headers, frame.fin);
      case 'synReply': {
        const stream = this.#streams.get(frame.streamId);
        if (stream === undefined) return;
        this.#opening.get(frame.streamId)?.resolve(stream);
        this.#opening.delete(frame.streamId);
        if (frame.fin) stream.receive(Buffer.alloc(0), true);
        return;
      }
      case 'headers':
        if (frame.fin) this.#streams.get(frame.streamId)?.receive(Buffer.alloc(0), true);
        return;
      case 'rstStream': {
        this.#opening
          .get(frame.streamId)
          ?.reject(new SpdyStreamResetError(`the stream was rejected (status ${frame.status})`));
        this.#opening.delete(frame.streamId);
        this.#streams.get(frame.streamId)?.receiveReset();
        return;
      }
      case 'ping':
        if (frame.id % 2 !== this.#parity) this.#reply(frame);
        else {
          this.#pings.get(frame.id)?.();
          this.#pings.delete(frame.id);
        }
        return;
      case 'goAway':
        this.#goneAway = true;
        if (this.#streams.size === 0) this.#end();
        return;
      case 'settings':
      case 'windowUpdate':
        return;
    }
  }

  #handleData(streamId: number, data: Buffer, fin: boolean): void {
    const stream = this.#streams.get(streamId);
    // The stream is closed on this side: data in flight is dropped. The other side has got our
    // reset.
    if (stream === undefined) return;
    if (stream.receive(data, fin)) {
      this.#full.add(stream);
      this.#socket.pause();
    }
  }

  #accept(streamId: number, headers: Headers, fin: boolean): void {
    if (streamId % 2 === this.#parity || streamId <= this.#lastAccepted) {
      throw new SpdyProtocolError(`stream id ${streamId} is not a new stream of the other side`);
    }
    this.#lastAccepted = streamId;
    if (this.#goneAway || this.#onStream === undefined || this.#streams.size >= this.#maxStreams) {
      this.#reply({ type: 'rstStream', streamId, status: rstStatus.refusedStream });
      return;
    }
    const stream = new SpdyStream(streamId, headers, this.#transport);
    this.#streams.set(streamId, stream);
    // The reply comes before anything else: the other side drops data of a stream without a reply.
    this.#reply({ type: 'synReply', streamId, headers: {}, fin: false });
    if (fin) stream.receive(Buffer.alloc(0), true);
    this.#onStream(stream);
  }

  #send(frame: ControlFrame): void {
    if (this.#over) return;
    this.#lastActivity = this.#clock.monotonic();
    this.#socket.write(this.#encoder.encode(frame));
  }

  /**
   * Sends a frame in reply to the other side. Throws SpdyProtocolError if the other side does not
   * read its replies.
   */
  #reply(frame: ControlFrame): void {
    if (this.#over) return;
    this.#lastActivity = this.#clock.monotonic();
    const bytes = this.#encoder.encode(frame);
    this.#unsentReplyBytes += bytes.length;
    if (this.#unsentReplyBytes > MAX_UNSENT_REPLY_BYTES)
      throw new SpdyProtocolError('the other side does not read its replies');
    this.#socket.write(bytes, () => (this.#unsentReplyBytes -= bytes.length));
  }

  #sendData(
    streamId: number,
    data: Buffer | undefined,
    fin: boolean,
    done: (err?: Error | null) => void,
  ): void {
    if (this.#over) {
      // A FIN that cannot be delivered is not an error; lost data is.
      done(data === undefined ? null : new SpdyStreamResetError('the SPDY connection is closed'));
      return;
    }
    this.#lastActivity = this.#clock.monotonic();
    const header = this.#encoder.dataHeader(streamId, data?.length ?? 0, fin);
    if (data === undefined) {
      this.#socket.write(header, done);
      return;
    }
    this.#socket.cork();
    this.#socket.write(header);
    this.#socket.write(data, done);
    this.#socket.uncork();
  }

  #resume(stream: SpdyStream): void {
    if (this.#full.delete(stream) && this.#full.size === 0) this.#socket.resume();
  }

  #forget(stream: SpdyStream): void {
    this.#streams.delete(stream.id);
    this.#opening.get(stream.id)?.reject(new SpdyStreamResetError('the stream was closed'));
    this.#opening.delete(stream.id);
    this.#resume(stream);
    if (this.#goneAway && this.#streams.size === 0) this.#end();
  }

  /** Ends the connection: the streams at once, the socket after the pending writes. */
  #end(err?: Error): void {
    if (this.#over) return;
    this.#over = true;
    this.#error = err;
    this.#idleTimer?.cancel();
    for (const { reject } of this.#opening.values())
      reject(err ?? new Error('the SPDY connection was closed'));
    this.#opening.clear();
    for (const stream of this.#streams.values()) stream.receiveReset();
    this.#streams.clear();
    this.#full.clear();
    for (const pong of this.#pings.values()) pong();
    this.#pings.clear();
    if (err) this.#socket.destroy();
    else {
      // Reads and drops further data, so that the other side's end is seen and the socket closes.
      this.#socket.resume();
      this.#socket.end();
      const linger = this.#clock.setTimer(LINGER_MS, () => this.#socket.destroy());
      this.#socket.once('close', () => linger.cancel());
      if (this.#socket.closed) linger.cancel();
    }
    this.#resolveClosed();
  }

  #watchIdle(timeoutMs: number): void {
    const idle = this.#clock.monotonic() - this.#lastActivity;
    if (idle >= timeoutMs) this.close();
    else this.#idleTimer = this.#clock.setTimer(timeoutMs - idle, () => this.#watchIdle(timeoutMs));
  }
}
