// A WebSocket as a plain byte stream, for protocols inside it (SPDY of port-forward, since kubectl
// 1.31).

import { Duplex } from 'node:stream';
import type { WebSocket } from 'ws';

export function webSocketTunnel(webSocket: WebSocket): Duplex {
  const tunnel = new Duplex({
    allowHalfOpen: true,
    read: () => webSocket.resume(),
    write: (chunk: Buffer, _encoding, done) => {
      if (webSocket.readyState === webSocket.OPEN) webSocket.send(chunk, { binary: true }, done);
      else done(new Error('the WebSocket is closed'));
    },
    final: (done) => {
      webSocket.close(1000);
      done();
    },
    destroy: (err, done) => {
      if (webSocket.readyState !== webSocket.CLOSED) webSocket.terminate();
      done(err);
    },
  });
  webSocket.on('message', (data, isBinary) => {
    if (!isBinary) webSocket.close(1003, 'binary messages expected');
    else if (!tunnel.push(data)) webSocket.pause();
  });
  // 'close' follows.
  webSocket.on('error', () => undefined);
  webSocket.on('close', () => {
    if (!tunnel.readableEnded && !tunnel.destroyed) tunnel.push(null);
    if (!tunnel.writableEnded) tunnel.end();
  });
  return tunnel;
}
