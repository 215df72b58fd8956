<?php

declare(strict_types=1);

/** Comptoir's webhooks. Whatever one says, the order is looked up at Comptoir. */
class ComptoirPayWebhookModuleFrontController extends ModuleFrontController
{
    public $auth = false;

    public function postProcess(): void
    {
        http_response_code($this->take((string) file_get_contents('php://input'), getallheaders()));
        exit;
    }

    /** @return int the HTTP status of the answer */
    public function take(string $body, array $headers): int
    {
        try {
            $this->module->take($body, $headers);
            return 200;
        } catch (WebhookVerificationError) {
            return 400;
        } catch (ComptoirError) {
            // not known for sure now: a refusal makes Comptoir deliver again
            return 503;
        }
    }
}
