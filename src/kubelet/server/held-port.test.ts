import { Socket } from 'node:net';
import type { TLSSocket } from 'node:tls';
import { expect, test } from 'vitest';
import { silentLogger } from '#machinery/log.ts';
import { HeldPort } from './held-port.ts';
import type { OpenPort, PortHandlers, PortOpener } from './listeners.ts';

/** Ports that are open, without a network. */
class FakePorts implements PortOpener {
  readonly host = '127.0.0.1';
  readonly handlers: PortHandlers[] = [];
  closed = 0;

  open(port: number, handlers: PortHandlers): Promise<OpenPort> {
    if (port === 1) return Promise.reject(new Error('EACCES'));
    this.handlers.push(handlers);
    return Promise.resolve({
      port: port === 0 ? 4321 : port,
      close: () => {
        this.closed++;
        return Promise.resolve();
      },
    });
  }
}

const socket = (): TLSSocket => new Socket() as TLSSocket;

function recordingHandlers(): PortHandlers & { readonly seen: readonly [string, Socket][] } {
  const seen: [string, Socket][] = [];
  return {
    seen,
    accepted: (each) => void seen.push(['accepted', each]),
    secured: (each) => void seen.push(['secured', each]),
  };
}

test('connections wait for the server that adopts the port', async () => {
  const ports = new FakePorts();
  let noticed = 0;
  const held = await HeldPort.open({ listeners: ports, port: 0 }, silentLogger, () => noticed++);
  expect([held.port, held.host]).toEqual([4321, '127.0.0.1']);
  const [first, gone, later] = [socket(), socket(), socket()];
  ports.handlers[0]?.accepted(first);
  ports.handlers[0]?.accepted(gone);
  ports.handlers[0]?.secured(first);
  gone.destroy();
  expect(noticed).toBe(3);

  const server = recordingHandlers();
  const open = await held.open(0, server);
  expect(open.port).toBe(4321);
  ports.handlers[0]?.accepted(later);
  expect(server.seen).toEqual([
    ['accepted', first],
    ['secured', first],
    ['accepted', later],
  ]);
  expect([noticed, ports.handlers.length]).toEqual([3, 1]);
  await open.close();
  expect(ports.closed).toBe(1);
});

test('an error of a connection that waits ends nothing else', async () => {
  const ports = new FakePorts();
  const held = await HeldPort.open({ listeners: ports, port: 5 }, silentLogger, () => undefined);
  const waiting = socket();
  ports.handlers[0]?.secured(waiting);
  waiting.emit('error', new Error('reset'));
  await held.close();
  expect(waiting.destroyed).toBe(true);
  expect(held.port).toBe(0);
});

test('connections beyond the limit are closed', async () => {
  const ports = new FakePorts();
  await HeldPort.open({ listeners: ports, port: 0 }, silentLogger, () => undefined);
  const sockets = Array.from({ length: 300 }, socket);
  for (const each of sockets) ports.handlers[0]?.accepted(each);
  expect(sockets.filter(({ destroyed }) => destroyed).length).toBe(100);
});

test('a port that cannot be opened is an error, unless it is optional', async () => {
  const ports = new FakePorts();
  const open = (optional: boolean): Promise<HeldPort> =>
    HeldPort.open({ listeners: ports, port: 1, optional }, silentLogger, () => undefined);
  await expect(open(false)).rejects.toThrow('EACCES');
  const held = await open(true);
  expect(held.port).toBe(0);
  expect((await held.open(7, recordingHandlers())).port).toBe(7);
});
