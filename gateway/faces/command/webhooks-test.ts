import { setTimeout as sleep } from 'node:timers/promises';
import { Command } from 'commander';
import { readWebhookDeliveries, testWebhook } from '../../control/webhooks/webhooks.ts';
import { asOption, jsonOption, targetArgument, type ChangeOptions } from './options.ts';
import { printFields, printJson, printWarning } from './output.ts';
import { withChanges } from './redis-session.ts';

/** An attempt takes 15 s at most. */
const [testPollMs, testPolls] = [250, 80];

export function webhooksTestCommand(): Command {
  return new Command('test')
    .description('send a webhook an event of the type webhook.test, once, and print how it went')
    .argument('<webhook>', '', targetArgument('webhook'))
    .addOption(asOption())
    .addOption(jsonOption())
    .action(async (id: string, options: ChangeOptions) => {
      const delivery = await withChanges(options.as, async (session) => {
        const eventId = await testWebhook(session, id);
        for (let poll = 0; poll < testPolls; poll += 1) {
          const deliveries = await readWebhookDeliveries(session, id);
          const found = deliveries.find((each) => each.eventId === eventId);
          if (found !== undefined) return found;
          await sleep(testPollMs);
        }
        return undefined;
      });
      if (delivery === undefined) printWarning('the event was not sent within 20 s: does a gateway run?');
      else if (options.json) printJson(delivery);
      else printFields(delivery);
      if (delivery?.outcome !== 'delivered') process.exitCode = 1;
    });
}
