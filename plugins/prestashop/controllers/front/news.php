<?php

declare(strict_types=1);

/** For a cron job. Anybody may ask: it works every five minutes at most, and says nothing. */
class ComptoirPayNewsModuleFrontController extends ModuleFrontController
{
    public $auth = false;

    public function postProcess(): void
    {
        $this->module->catchUp();
        http_response_code(204);
        exit;
    }
}
