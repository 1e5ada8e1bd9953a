// The end of an HTTP/2 server's sessions. Node refuses a stream of a session that `close` was called
// on while nghttp2 still parses the input that the stream came with: the stream is freed, then read
// and written (Node 20; found with valgrind). So `close` is called only when the client cannot open
// streams any more.

import { constants, type Http2Session, type ServerHttp2Stream } from 'node:http2';
import { inNextTurn } from '../pending-work.ts';

interface SessionState {
  streams: number;
  isClosing: boolean;
}

const states = new WeakMap<Http2Session, SessionState>();

function stateOf(session: Http2Session): SessionState {
  let state = states.get(session);
  if (state === undefined) {
    state = { streams: 0, isClosing: false };
    states.set(session, state);
  }
  return state;
}

/**
 * Counts a new stream of a session. Returns false if the session is closing: the stream is refused
 * then, which tells the client to repeat the request on another connection.
 */
export function acceptStream(stream: ServerHttp2Stream): boolean {
  const { session } = stream as { readonly session?: Http2Session };
  if (session === undefined) return true;
  const state = stateOf(session);
  if (state.isClosing) {
    stream.on('error', () => undefined);
    closeStreamLater(stream, constants.NGHTTP2_REFUSED_STREAM);
    return false;
  }
  state.streams++;
  stream.once('close', () => {
    state.streams--;
    if (state.isClosing && state.streams === 0) closeLater(session);
  });
  return true;
}

/** Ends a session when its streams have ended. New ones are refused. Idempotent. */
export function closeSession(session: Http2Session): void {
  const state = stateOf(session);
  if (state.isClosing || session.destroyed) return;
  state.isClosing = true;
  session.goaway();
  if (state.streams === 0) closeLater(session);
}

/** Reports whether `closeSession` was called. */
export const isClosing = (session: Http2Session): boolean => stateOf(session).isClosing;

/** By then GOAWAY was sent, after which nghttp2 ignores new streams. */
function closeLater(session: Http2Session): void {
  inNextTurn(() => {
    if (!session.destroyed) session.close();
  });
}

/** Closes a stream in the next turn of the event loop, when nothing parses input of it. */
export function closeStreamLater(
  stream: ServerHttp2Stream,
  code: number = constants.NGHTTP2_NO_ERROR,
): void {
  inNextTurn(() => {
    if (!stream.destroyed) stream.close(code);
  });
}
