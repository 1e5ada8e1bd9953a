// A load generator for DNS over UDP, in a process of its own: so many sockets, each with so many
// queries on the way.
//
//   node generator.ts PORT SECONDS NAMES…     prints {"perSecond": …, "failures": …}

import { createSocket } from 'node:dgram';
import { encode } from 'dns-packet';

const SOCKETS = 4;
const IN_FLIGHT = 32;
/** A query without an answer after this time is lost, and is sent again. */
const LOST_MS = 1000;

const [port = '', seconds = '', ...names] = process.argv.slice(2);
const questions = names.map((name) =>
  encode({ type: 'query', id: 0, flags: 0x0100, questions: [{ name, type: 'A' }] }),
);
let answers = 0;
let failures = 0;
let lost = 0;
let counting = false;

for (let i = 0; i < SOCKETS; i++) {
  const socket = createSocket('udp4');
  let next = i;
  let lastAnswer = performance.now();
  const send = (): void => {
    const question = questions[next++ % questions.length]!;
    question.writeUInt16BE(next & 0xffff, 0);
    socket.send(Buffer.from(question));
  };
  socket.on('message', (message) => {
    lastAnswer = performance.now();
    if (counting) {
      answers++;
      // Counts answers that are NOERROR and have at least one record.
      if ((message.readUInt16BE(2) & 0xf) !== 0 || message.readUInt16BE(6) === 0) failures++;
    }
    send();
  });
  socket.connect(Number(port), '127.0.0.1', () => {
    for (let k = 0; k < IN_FLIGHT; k++) send();
  });
  setInterval(() => {
    if (performance.now() - lastAnswer < LOST_MS) return;
    lost += IN_FLIGHT;
    lastAnswer = performance.now();
    for (let k = 0; k < IN_FLIGHT; k++) send();
  }, LOST_MS);
}

setTimeout(() => {
  counting = true;
  const start = performance.now();
  setTimeout(
    () => {
      const elapsed = (performance.now() - start) / 1000;
      process.stdout.write(`${JSON.stringify({ perSecond: answers / elapsed, failures, lost })}\n`);
      process.exit(0);
    },
    Number(seconds) * 1000,
  );
}, 500);
