import fc from 'fast-check';
import { expect, test } from 'vitest';
import { Frames } from '../../../../../gateway/platform/http/websocket.ts';

/** An unmasked binary frame (RFC 6455 section 5.2). */
function frame(payload: Buffer): Buffer {
  const { length } = payload;
  const head = Buffer.alloc(length < 126 ? 2 : length < 65_536 ? 4 : 10);
  head[0] = 0x82;
  head[1] = length < 126 ? length : length < 65_536 ? 126 : 127;
  if (head.length === 4) head.writeUInt16BE(length, 2);
  if (head.length === 10) head.writeBigUInt64BE(BigInt(length), 2);
  return Buffer.concat([head, payload]);
}

const payload = fc
  .oneof(fc.nat(200), fc.constantFrom(125, 126, 65_535, 65_536))
  .map((length) => Buffer.alloc(length, 0x88));

test('frames pass as they are, and a Close frame comes after a whole one, wherever the stream is split', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(payload, { minLength: 1, maxLength: 5 }),
      fc.array(fc.nat(70_000), { maxLength: 6 }),
      fc.nat(6),
      async (payloads, cuts, closeAfter) => {
        const whole = payloads.map(frame);
        const stream = Buffer.concat(whole);
        const ends = [0, ...cuts.map((cut) => cut % stream.length).toSorted((a, b) => a - b), stream.length];
        const frames = new Frames();
        const chunks: Buffer[] = [];
        frames.on('data', (chunk: Buffer) => chunks.push(chunk));
        let written = 0;
        for (const [index, end] of ends.entries()) {
          if (index === closeAfter) frames.close(1001);
          await new Promise((resolve) => frames.write(stream.subarray(written, end), resolve));
          written = end;
        }
        frames.close(1001);
        await new Promise((resolve) => frames.end(resolve));
        const closedAt = ends[Math.min(closeAfter, ends.length) - 1] ?? 0;
        const boundaries = whole.map((_, index) => Buffer.concat(whole.slice(0, index)).length);
        const passed =
          [...boundaries, stream.length].find((boundary) => boundary >= closedAt) ?? stream.length;
        const close = Buffer.from([0x88, 2, 0x03, 0xe9]);
        expect(Buffer.concat(chunks).equals(Buffer.concat([stream.subarray(0, passed), close]))).toBe(true);
      },
    ),
  );
});

test('what the service has ended is not closed once more, while the client has not read it', async () => {
  const frames = new Frames();
  const whole = frame(Buffer.alloc(100_000));
  frames.write(whole);
  frames.end();
  // The end has gone through, and waits behind what nobody reads.
  await new Promise((resolve) => setImmediate(resolve));
  frames.close(1001);
  const chunks: Buffer[] = [];
  for await (const chunk of frames) chunks.push(chunk as Buffer);
  expect(Buffer.concat(chunks).equals(whole)).toBe(true);
});
